"""The sample world: drawn scenes that stand in for the real benchmarks where these are not at hand."""
