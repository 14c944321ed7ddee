"""Reads a verdict from a free answer: yes, no, or that it cannot be told."""
