"""Hooks in Python that are started before their event; see docs/warm-hooks.md."""
