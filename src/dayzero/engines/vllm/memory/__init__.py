"""What vLLM allocates: on each GPU (:mod:`.budget`), and in the memory of a host without GPUs (:mod:`.host`)."""
