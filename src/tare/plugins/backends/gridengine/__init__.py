"""Backend `gridengine`: attempts are batch jobs of Grid Engine, one each or a block in one (qsub(1))."""
