"""Case files: what hooks must decide about given events, read, run on the agent's own path, and judged.

read.py: files → [Case] ── run.py: fire each → Verdict ── judge.py: differences ── [Result] → cli/report, junit.py
recorded.py: records of the log → [Recorded] ── write.py: case files
"""
