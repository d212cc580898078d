"""What all batch systems share: a job's script, the record that it leaves, and the polling of a queue.

A backend adds a `Queue` (its commands), the directives of its scripts, and a few shell functions; see
docs/design.md, "Adding a backend".
"""
