"""Backend `gridengine`: each attempt, or each block, is one batch job of Grid Engine (qsub(1))."""
