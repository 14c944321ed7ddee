"""All that knows lmms-eval."""
