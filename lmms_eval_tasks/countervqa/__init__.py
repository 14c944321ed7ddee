"""CounterVQA: had an action not happened, would another still have?"""
