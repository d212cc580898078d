"""A package that knows Tare only by its protocols and entry points."""
