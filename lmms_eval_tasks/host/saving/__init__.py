"""Files written next to lmms-eval's results."""
