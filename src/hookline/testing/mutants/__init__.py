"""Attacks on one's own guards: other forms of what a guard stops, and harmless things that look like it.

commands.py, paths.py: an input → [Mutant] ── sandbox.py: is the other form really the same? ── the guard is asked
"""
