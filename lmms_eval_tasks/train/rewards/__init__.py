"""Rewards of an answer to a counterfactual question, for reinforcement learning with any trainer.

Nothing here but the judge imports more than the standard library, networkx and lemminflect: an environment that trains
has neither lmms-eval nor what else this package needs.
"""
