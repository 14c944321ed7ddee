"""What a benchmark is: its facts and its task files."""
