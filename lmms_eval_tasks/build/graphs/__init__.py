"""Causal graphs of the actions of a clip: their measures, filters, and how well one graph agrees with another."""
