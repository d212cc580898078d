"""Numbers, answers and doubts in words."""
