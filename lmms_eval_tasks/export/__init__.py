"""Scores of runs in other people's forms, made of scores and cards alone: no item, response or path is in them."""
