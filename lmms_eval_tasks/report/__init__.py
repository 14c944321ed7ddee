"""Scores of runs as tables for the terminal and as one HTML page."""
