"""Finished runs, read back from their output folders."""
