"""The page over the log, on loopback."""
