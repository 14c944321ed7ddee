"""Learning from sets of questions: rewards for any trainer, stages on ms-swift, and a module for each benchmark.

Nothing of the evaluation imports it: its commands and trainers are announced by entry points.
"""
