"""The messages of a session: contents, transcript, summaries."""
