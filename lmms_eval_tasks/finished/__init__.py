"""Operations on finished runs: rescoring, merging, submission files, data frames."""
