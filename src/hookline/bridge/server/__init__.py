"""Keeps the engine loaded between the calls of an agent."""
