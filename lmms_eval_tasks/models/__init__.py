"""Models that this package adds to lmms-eval."""
