"""Embedders: similarity of meaning, with the embedder named in the result (C-67, C-68)."""
