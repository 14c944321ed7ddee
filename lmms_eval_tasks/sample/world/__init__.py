"""Two-dimensional mechanics, scenes, and clips of them: written with `render` and `video`, read with `vision`."""
