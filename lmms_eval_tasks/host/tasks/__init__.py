"""Our tasks as lmms-eval runs them."""
