"""What more than one benchmark needs."""
