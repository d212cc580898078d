"""Predict from curves of networks what they cost a program, and how much network it needs."""
