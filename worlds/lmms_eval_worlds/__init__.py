"""Worlds: the questions of the five papers about scenes whose truth is computed."""
