"""Readers for programs that run other commands: wrappers, shells, tools, interpreters."""
