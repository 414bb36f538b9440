"""Kernel libraries: what is true of one library only. Each folder is one entry point of ``dayzero.kernel_libraries``."""
