"""The embedded engine: llama.cpp's own server, out of the xllamacpp wheel."""
