"""Which walls can a failed start's log name, by which line, and what resolves them? One TOML file per wall."""
