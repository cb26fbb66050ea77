"""Guards that come with hookline: rules about shell commands, secrets, paths, git and the network.

commands.py   what a shell command runs, read as a shell reads it
places.py     what kind of place a path is
rules.py      rules as data, and how one is matched
"""
