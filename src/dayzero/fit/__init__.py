"""Does it fit? A memory budget, term by term, against what the machine really has."""
