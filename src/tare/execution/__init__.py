"""From a plan to attempts: blocks, retries, time-outs, the stopping rule and resume."""
