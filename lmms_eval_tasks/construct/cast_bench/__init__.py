"""Making a set of CaST-Bench's kind from clips and tracks of who and what is in them."""
