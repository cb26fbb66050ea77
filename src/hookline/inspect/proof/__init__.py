"""Whether hooks really judged what agents did.

transcripts → [MadeCall] ──┐
                           ├── reconcile.py: each call with its decision, or with the likely cause (causes.py)
log → Evidence ────────────┘
trials.py: what hooks on trial would have kept back, and what the log and the transcripts say became of it
canary.py: a call that only a hook can deny, through the live path; standing.py: configured, observed, enforced
"""
