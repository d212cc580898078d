"""The nouns of Tare as frozen types, and the protocols through which its parts meet."""
