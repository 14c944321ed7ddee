"""Making sets of questions: the engine of building, curation, causal graphs, annotation pages, a folder a benchmark.

Nothing of the evaluation imports it: its commands and builders are announced by entry points.
"""
