"""How requests reach a model: kept answers, parts, ranks and views made ahead."""
