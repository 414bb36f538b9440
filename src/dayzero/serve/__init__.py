"""Start an engine from its launch, wait until it is healthy, and say why when it is not."""
