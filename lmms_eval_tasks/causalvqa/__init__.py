"""CausalVQA: multiple-choice questions on causes and effects, each asked twice with other options."""
