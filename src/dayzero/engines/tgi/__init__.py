"""Text Generation Inference: how it writes its log."""
