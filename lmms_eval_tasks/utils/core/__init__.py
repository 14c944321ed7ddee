"""The basis of every other package: errors, files, JSON, words."""
