"""What is evaluated. Pure: no clock, no network, no files."""
