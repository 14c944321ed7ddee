"""Sets for training, made of scenes: in the form of another benchmark's release."""
