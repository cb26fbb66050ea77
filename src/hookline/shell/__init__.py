"""The reader of shell commands."""
