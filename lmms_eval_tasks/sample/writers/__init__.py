"""One module per benchmark that writes its sample data in the form of its release; each declares `WRITER`."""
