"""EVAL.yaml: one file that says what is run and scored, read strictly and checked."""
