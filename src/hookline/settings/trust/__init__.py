"""Which project hooks the user has trusted, by content."""
