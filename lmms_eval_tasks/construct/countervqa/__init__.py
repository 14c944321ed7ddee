"""Making a set of questions: annotated clips, causal graphs, questions, verification."""
