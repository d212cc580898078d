"""Shell scripts that run on the nodes, and the readers of their output. Pure: other packages start them."""
