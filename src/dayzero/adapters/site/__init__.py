"""The catalog as files: HTML and JSON rendered from a listing, written to a folder, and served from it."""
