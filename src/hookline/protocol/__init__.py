"""Events, inputs, answers, verdicts and records: pure values without I/O."""
