"""Commands that make sets of questions, one module each."""
