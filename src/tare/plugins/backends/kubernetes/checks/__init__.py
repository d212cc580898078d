"""Checks of a cluster before a campaign: rights, operator, quotas, networks, and dry runs of jobs."""
