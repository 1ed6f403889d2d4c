"""The scores of trivial answers on the same cases (C-135)."""
