"""Spatio-temporal evidence in answers: reading it, and grading it against the truth."""
