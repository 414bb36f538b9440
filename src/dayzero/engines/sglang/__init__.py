"""SGLang: how it writes its log."""
