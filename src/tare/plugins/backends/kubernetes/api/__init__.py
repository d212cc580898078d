"""Requests to an API server: its address and credentials, and what is watched there."""
