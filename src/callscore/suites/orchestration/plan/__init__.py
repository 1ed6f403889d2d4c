"""A workflow plan: read from text, drawn as two graphs, compared by edit distance."""
