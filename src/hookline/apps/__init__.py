"""The programs: the command line, the page and the small coding agent. They parse, call and render."""
