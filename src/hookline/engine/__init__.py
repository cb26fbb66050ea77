"""The pipeline: plan, run, read answers, merge, decide."""
