"""Answers from pixels: one module per kind of clip, each with its `RULES`."""
