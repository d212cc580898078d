"""Compare contenders with references, and judge all comparisons of a question together."""
