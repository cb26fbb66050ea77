"""Attacks on one's own guards: other forms of what a guard stops, and harmless things that look like it.

commands.py, paths.py: an input → [Mutant] ── attack.py: each one as a case ── the guard is asked

Nothing but hooks is executed. Each form is equivalent because of the rewriting rule that made it.
"""
