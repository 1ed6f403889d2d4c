"""Transcripts, forms and data sets of other systems, read into conversations and cases."""
