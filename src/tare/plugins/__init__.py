"""What plugs in: workloads, launchers, runtimes, backends, collectors, and the registry that finds them."""
