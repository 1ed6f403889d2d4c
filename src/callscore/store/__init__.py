"""Files in and out: streams, indexes, atomic writes."""
