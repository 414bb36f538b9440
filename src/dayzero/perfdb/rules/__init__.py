"""The rules of lint, one a file: which rows a reader should not take as they are."""
