"""The campaign folder: an append-only journal is the truth; frames and exports derive from it."""
