"""QA forms: their shape, and the arithmetic of the systems they come from."""
