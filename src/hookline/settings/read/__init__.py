"""Files to layers: where settings are, how they are read and merged."""
