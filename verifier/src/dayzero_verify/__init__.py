"""Check a dayzero kit without trusting whoever made it. Standard library only."""

__version__ = "0.1.0"
