"""Personal data in texts: found, replaced by stable placeholders, and reported."""
