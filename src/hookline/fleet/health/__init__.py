"""Proof of life: what each machine says of itself, and canaries that its guards must deny."""
