"""The prompts of the checks: ordinary text that any model goes on with for a while."""

from typing import Final

STORY: Final = "Write a short story about a lighthouse keeper who finds a letter in a bottle."
WEATHER: Final = "What is the weather in Paris? Use the tool."
PERSON: Final = "Describe an invented person as JSON with their name and age."
MANY: Final = (
    "Name three rivers of Europe, and say where each begins.",
    "Explain to a child why the sky is blue on a clear day, in simple words, and why it turns red in the evening.",
    "List the planets.",
    "Write a letter to a landlord who has not repaired the heating for two weeks although it is winter and very cold.",
    "How is bread made from flour, water, salt and yeast?",
    "Tell me about the history of the bicycle, its inventors, and the cities that were changed by it, please.",
)
