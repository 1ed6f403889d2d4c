"""The one room that awaits: calls are made, repeated, limited, paid and kept here."""
