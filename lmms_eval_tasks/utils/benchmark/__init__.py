"""The object of a benchmark, its kinds of tasks and views, and its task files."""
