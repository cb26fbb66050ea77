"""Finds the programs that a shell command runs, by reading it as a shell does. Nothing is executed."""
