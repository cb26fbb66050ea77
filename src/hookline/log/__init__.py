"""Records of events: written, read and redacted."""
