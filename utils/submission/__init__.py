"""Submission files: their form, their rows, their checks."""
