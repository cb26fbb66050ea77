"""A small coding agent on the trigger functions."""
