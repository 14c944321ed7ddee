"""A small benchmark: on which side of a clip a lamp goes on, asked about the clip and about its mirror image."""
