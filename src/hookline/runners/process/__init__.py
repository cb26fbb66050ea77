"""Hooks that are commands: start, feed, read, time and end a process."""
