"""Campaigns whose truth is known, and what is claimed of them: counted, so that promises can be held."""
