"""A run, wired: what is asked, of whom, kept where, and scored from what was kept."""
