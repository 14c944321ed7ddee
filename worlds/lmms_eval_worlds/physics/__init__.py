"""Scenes, their physics, what is true of them, and their clips: nothing here knows of questions."""
