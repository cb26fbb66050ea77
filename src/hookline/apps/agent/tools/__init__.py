"""The tools that the agent offers to the model."""
