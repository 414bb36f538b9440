"""The command line: one file per command; each parses, calls one part, prints, and gives the exit code."""
