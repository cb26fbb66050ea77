"""The agents that can have hookline as their hook command: one module each."""
