"""The model that lmms-eval runs: identity, clip readers, and how it answers."""
