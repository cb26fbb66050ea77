"""Judges recorded events again: past.py → run.py (today's hooks, or two versions of them) → Change."""
