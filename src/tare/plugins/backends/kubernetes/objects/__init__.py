"""The objects of a cluster, as types: those that Tare creates, and those that it reads."""
