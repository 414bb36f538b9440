"""The only place where ports meet adapters, and where settings are read: one module per matter."""
