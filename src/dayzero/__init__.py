"""From public weights to a verified, measured, signed endpoint on your own hardware."""

__version__ = "0.1.0"
