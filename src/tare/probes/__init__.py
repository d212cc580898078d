"""Scripts that the nodes of a run start, and how what they print is read. Pure: other packages start them."""
