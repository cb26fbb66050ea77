"""The `hookline` command."""
