"""The content of each part of the report, computed as plain values before any HTML."""
