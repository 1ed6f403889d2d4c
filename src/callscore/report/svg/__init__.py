"""Pictures as inline SVG: pure functions from values to markup, with text alternatives."""
