"""Hooks that are HTTP requests."""
