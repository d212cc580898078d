"""Check a campaign against rules: their grammar, what they select, and how they are tested."""
