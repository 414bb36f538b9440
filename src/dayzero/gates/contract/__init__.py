"""Does an OpenAI-compatible endpoint keep what its users rely on? Named checks, each with its requests and answers kept."""
