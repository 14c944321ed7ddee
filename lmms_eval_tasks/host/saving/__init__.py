"""What is written beside lmms-eval's results."""
