"""Rewards of an answer to a counterfactual question, for reinforcement learning with any trainer.

Nothing here imports more than the standard library and networkx, and the judge urllib3 and certifi: an environment that
trains has neither lmms-eval nor what else this package needs.
"""
