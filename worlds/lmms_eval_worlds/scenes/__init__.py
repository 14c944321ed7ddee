"""Scenes: what is in them, and families that draw them."""
