"""The doubles of kubelab, by themselves."""
