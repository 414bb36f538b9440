"""Is it still the model, and can the instrument tell? A gate certifies itself on its control before it says anything."""
