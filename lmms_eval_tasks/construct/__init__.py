"""Making sets of questions: the engine of building, curation, annotation pages, and a folder for each benchmark.

Nothing of the evaluation imports it: its commands and builders are announced by entry points.
"""
