"""Renders plans, runs, verdicts and records for a terminal."""
