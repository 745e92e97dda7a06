"""How holdfast enters the client's settings and leaves them again: not a byte of anyone else's changes."""
