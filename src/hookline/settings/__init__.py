"""Where hooks come from: files, layers, one Settings value, and trust."""
