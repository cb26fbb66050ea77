"""Writes records to the log file."""
