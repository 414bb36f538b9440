"""Can this build serve this model? Proven or refuted from the build's own files, before anything is started."""
