"""Removes secrets from records."""
