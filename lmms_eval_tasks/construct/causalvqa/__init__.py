"""Making a set in CausalVQA's form from annotators' questions about clips."""
