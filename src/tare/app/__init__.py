"""Wire the parts together: from a study file to a plan, and to the executors that run it."""
