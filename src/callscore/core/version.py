"""The version of this program; it enters the signature of every result."""

__version__ = "0.1.0"
