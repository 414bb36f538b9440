"""Write a run for other programs to read: one file a format."""
