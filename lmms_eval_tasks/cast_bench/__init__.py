"""CaST-Bench: multiple-choice answers about a clip with the evidence for them in time and space."""
