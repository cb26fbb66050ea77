"""Hooks that run on another machine."""
