"""Questions to people, their answers, and scores made of them."""
