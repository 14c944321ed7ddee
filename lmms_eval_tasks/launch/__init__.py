"""One command in many parts, here or on SLURM: each part alone, tried again where it fails, found again later."""
