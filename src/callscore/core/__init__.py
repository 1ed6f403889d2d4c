"""The words everything else is said in. Standard library and msgspec only."""
