"""The facts that a text states in digits: read by rule, in any script, and compared (C-76)."""
