"""Run a plan as attempts: blocks, retries, time-outs, the stopping rule and resuming a campaign."""
