"""Tare's plug-ins (workloads, launchers, runtimes, backends, collectors) and the registry that finds them."""
