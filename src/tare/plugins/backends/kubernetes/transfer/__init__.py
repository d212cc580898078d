"""How the files of a run come from its pods: in their logs, and by ``exec``."""
