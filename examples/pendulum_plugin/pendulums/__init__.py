"""A benchmark of three pendulums an item: which one is slowest, and how many seconds it takes there and back."""
