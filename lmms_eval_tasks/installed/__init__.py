"""What this installation has, found by name: benchmarks, their prompts and prepared sets, and runs of them."""
