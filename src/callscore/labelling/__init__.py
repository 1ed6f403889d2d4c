"""Gold by people: which calls to label, what to ask about them, and what the answers make."""
