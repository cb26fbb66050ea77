"""Hooks that are resident programs."""
