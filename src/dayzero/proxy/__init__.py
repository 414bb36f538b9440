"""What can be rehearsed on a small node? The real model's widths and quirks, fewer of its layers, and none of its weights."""
