"""From a campaign to its answers: estimates of cases, and comparisons of contenders with references."""
