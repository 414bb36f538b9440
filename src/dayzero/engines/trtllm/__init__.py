"""TensorRT-LLM: how it writes its log."""
