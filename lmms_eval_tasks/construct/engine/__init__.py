"""Making a set of questions: a list of steps over rows, with one client for all models that are asked."""
