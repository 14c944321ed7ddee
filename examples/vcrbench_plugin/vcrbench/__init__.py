"""VCRBench (Sarkar & Etemad 2025, arXiv 2505.08455): put shuffled clips into the order in which they cause a goal."""
