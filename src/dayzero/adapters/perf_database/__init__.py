"""The performance database on disk: a folder of files under their digests, read and written with DuckDB."""
