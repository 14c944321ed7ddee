"""Code that more than one benchmark needs."""
