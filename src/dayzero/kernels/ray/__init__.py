"""Ray: how it writes its lines into an engine's log."""
