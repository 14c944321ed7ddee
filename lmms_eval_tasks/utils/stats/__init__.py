"""Intervals, comparisons and human baselines."""
