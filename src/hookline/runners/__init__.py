"""How one hook runs: as a process, in a warm interpreter, in a worker, by HTTP or on another machine."""
