"""Triton Inference Server: how it writes its log."""
