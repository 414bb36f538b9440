"""How fast is this operator on this system, on which build? Rows of a tree, what they cover, what is wrong with them."""
