"""Asking people about a benchmark: who is asked what, the page that asks, and what is made of the answers."""
