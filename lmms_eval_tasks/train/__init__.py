"""Learning from sets of questions: rewards for any trainer, stages on ms-swift, one place a benchmark.

Nothing of the evaluation imports it: its commands and trainers are announced by entry points.
"""
