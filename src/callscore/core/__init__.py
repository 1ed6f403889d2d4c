"""The types that every other package uses. Standard library and msgspec only."""
