"""Whether hooks really judged what agents did.

transcripts → [MadeCall] ──┐
                           ├── reconcile.py: each call with its decision, or with the likely cause (causes.py)
log → Evidence ────────────┘
shadow.py: calls that hooks in shadow mode would have stopped, and what the log and the transcripts say happened
canary.py: a call that only a hook can deny, through the live path; coverage.py: configured, observed, enforced
"""
