"""What a model is shown, without loading its weights."""
