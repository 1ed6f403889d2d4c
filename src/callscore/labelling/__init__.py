"""Labelling by people: samples of calls, label sheets, and the labels read from them."""
