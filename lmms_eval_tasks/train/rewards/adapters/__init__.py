"""The rewards in the form in which each trainer calls them; none of the trainers is imported."""
