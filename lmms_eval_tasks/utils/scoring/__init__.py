"""Records, and the scores that are functions of them."""
