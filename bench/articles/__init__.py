"""Run the published articles' claims on this machine, judge them, and write their pages: `make articles`."""
