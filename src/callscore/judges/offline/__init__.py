"""The offline judge: estimates by rule, without a network and without weights (JUDGE, C-125)."""
