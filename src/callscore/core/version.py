"""The version of this package; part of the signature of every result."""

__version__ = "0.1.0"
