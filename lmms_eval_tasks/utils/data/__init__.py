"""From a raw release to prepared tables in the data home; clips, their frames, and clips made of them."""
