"""What is done with finished runs: rescoring, merging, submission files, data frames."""
