"""The model APIs that the agent calls."""
