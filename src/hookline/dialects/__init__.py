"""Hooks that were written for other agents: one table per agent."""
