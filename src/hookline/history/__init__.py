"""What agents really did: the tool calls in their transcripts.

claude.py, codex.py, gemini.py: a transcript → [MadeCall] ── transcripts.py: all of an agent on this machine
"""
