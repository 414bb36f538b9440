"""PyTorch: how it and its process groups write their lines into an engine's log."""
