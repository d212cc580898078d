"""Campaigns under random faults, for as long as one likes, whose books are checked: `make soak`."""
