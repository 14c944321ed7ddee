"""Models that this package registers with lmms-eval."""
