"""Making and filtering sets of questions: minimal pairs, and items that are solved without the clip."""
