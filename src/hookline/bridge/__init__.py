"""hookline as another agent's hook command."""
