"""The definition of a benchmark: its facts and its task files."""
