"""Texts of the protocol: JSON as JavaScript writes it, patterns, words for outcomes."""
