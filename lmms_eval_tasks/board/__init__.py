"""A leaderboard of one's own, from the scores and cards of runs alone."""
