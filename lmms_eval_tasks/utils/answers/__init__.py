"""Reads a choice from free text as a careful reader would."""
