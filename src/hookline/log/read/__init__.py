"""Reads records: queries, statistics, verification."""
