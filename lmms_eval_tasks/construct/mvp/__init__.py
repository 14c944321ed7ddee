"""Minimal pairs made from the annotations of other sets of videos."""
