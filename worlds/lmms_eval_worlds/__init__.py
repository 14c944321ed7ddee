"""Worlds: the questions of the five papers about scenes whose truth is computed."""

__version__ = "0.1.0"
