"""Prompt texts, ours and official ones."""
