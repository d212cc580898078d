"""Figures: which lines are drawn where, in which look, on the screen and on paper."""
