"""What a cluster's objects say of a task: its phase, what it waits for, what changed or ended its pods."""
