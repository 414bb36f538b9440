"""FlashInfer: which kernels a build of it can launch, from its enumerations, the artifacts it pins, and its sources."""
