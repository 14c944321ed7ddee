"""From a raw release to prepared tables in the data home."""
