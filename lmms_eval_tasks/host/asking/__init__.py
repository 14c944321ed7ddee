"""Requests on their way to a model: kept answers, parts, ranks and views made ahead."""
