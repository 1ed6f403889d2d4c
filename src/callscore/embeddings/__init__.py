"""Embedders: how alike two texts are in meaning, and by whom it was said (C-67, C-68)."""
