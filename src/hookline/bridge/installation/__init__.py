"""Writes hookline into the settings of an agent, and shows whether it answers there."""
