"""Facts in digits: extracted by rule, in any script, and compared (C-76)."""
