"""The tool calls in the transcripts of agents.

claude.py, codex.py, gemini.py: a transcript → [MadeCall] ── find.py: all of an agent on this machine
"""
