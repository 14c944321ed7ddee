"""Denoising losses as responses, and the protocol by which they are measured."""
