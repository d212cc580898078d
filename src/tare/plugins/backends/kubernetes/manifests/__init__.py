"""Manifests: what a task creates in a cluster, and the scripts of its pods."""
