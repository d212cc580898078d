"""Backend `process`: jobs are processes of this machine, or of hosts that an agent such as ssh reaches."""
