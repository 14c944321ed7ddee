"""Asking a language model to judge, with retries and a cache."""
