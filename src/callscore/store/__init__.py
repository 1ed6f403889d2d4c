"""What lasts: files read as streams and written whole, and the journal of paid answers."""
