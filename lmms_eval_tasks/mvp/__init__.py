"""MVP: minimally different video pairs that share one question and its two options."""
