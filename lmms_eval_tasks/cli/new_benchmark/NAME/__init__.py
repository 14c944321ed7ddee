"""The benchmark NAME."""
