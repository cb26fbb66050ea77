"""JSON values to typed settings; problems are collected, not raised."""
