"""Code that several workloads share: reading logs, collecting findings, and starting servers and services."""
