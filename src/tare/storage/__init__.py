"""The campaign folder: an append-only journal is the record, and frames and exports are derived from it."""
