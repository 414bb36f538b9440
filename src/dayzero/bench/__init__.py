"""How fast, measured how? A closed-loop grid over an OpenAI-compatible endpoint, one raw row per request."""
