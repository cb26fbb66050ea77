"""Other agents' settings files and plugins."""
