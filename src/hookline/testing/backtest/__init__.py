"""What really happened, judged again: past.py → run.py (today's hooks, or two versions of them) → Change."""
