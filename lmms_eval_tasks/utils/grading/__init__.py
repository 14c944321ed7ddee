"""How benchmarks grade free answers: verdicts, what is possible, and options with evidence."""
