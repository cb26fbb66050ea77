"""The specification's trigger functions."""
