"""A preview of a model's inputs, without loading its weights."""
