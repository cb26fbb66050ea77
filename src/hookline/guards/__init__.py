"""Guards that come with hookline: rules about shell commands, secrets, paths, git and the network.

shell_eval/    the programs that a shell command runs, read as a shell reads it
path_kinds.py  the kinds of places that a path is
rules.py       rules as data, and how one is matched
"""
