"""Submission files: their form, and how they are written and checked."""
