"""What families of workloads share: reading logs, keeping findings, kinds of programs."""
