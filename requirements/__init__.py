"""What is installed for development, locked with hashes; its audit, and its bill of materials."""
