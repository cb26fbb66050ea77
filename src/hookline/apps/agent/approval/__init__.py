"""Asks the user about tool calls, and knows what an answer covers."""
