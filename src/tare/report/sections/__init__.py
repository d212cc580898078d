"""What each part of the page shows, computed before any HTML."""
