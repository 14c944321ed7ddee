"""What a run scored: tables for the terminal and one HTML page."""
