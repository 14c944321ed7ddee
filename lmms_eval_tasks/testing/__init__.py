"""Properties of every benchmark: the body of `check --thorough`, and of the tests over the registry."""
