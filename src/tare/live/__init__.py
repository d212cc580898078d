"""The live page: what campaigns are doing now, over HTTP, read-only."""
