"""Files for the Hugging Face hub and Every Eval Ever, of scores and cards alone: without items, responses and paths."""
