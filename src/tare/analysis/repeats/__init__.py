"""Decide how often to repeat, and when to stop: precision, budget and cost."""
