"""Hooks that are functions of this process: of the program, of an installed package, or of a pack."""
