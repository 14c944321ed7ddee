"""Training a video model with ms-swift: rows, configuration, runs that go on, and what weights were trained on."""
