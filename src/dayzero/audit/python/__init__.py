"""What does one package ask of another in Python, and does the other have it? Read from their text; nothing is imported."""
