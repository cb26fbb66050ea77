"""What a shell command runs: read as a shell would, without running anything."""
