"""Kinds of clips, with their questions and true answers."""
