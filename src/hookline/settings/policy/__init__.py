"""A company's signed policy: its documents, their signatures, and the layer of settings that they become."""
