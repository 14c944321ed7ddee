"""What every other package stands on: errors, files, JSON, words."""
