"""Which walls are known, and what resolves each? One TOML file per wall, every fact with the build that shows it."""
