"""IntPhys 2: clips of simulated scenes, each possible or impossible."""
