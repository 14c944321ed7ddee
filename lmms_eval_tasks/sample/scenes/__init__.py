"""What each kind of clip shows, with its questions and their true answers."""
