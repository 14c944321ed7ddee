"""Requests to servers: the one client of this package. It needs nothing but urllib3 and certifi."""
