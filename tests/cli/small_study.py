"""A study of two levels whose workload a test declares, in a file that is written whole."""

from __future__ import annotations


def small_study(script: str, *, levels: str = "[a, b]", repeats: int = 2) -> str:
    """Return a study whose cases differ in {text}; `script` of sh prints ``value: NUMBER``."""
    return f"""\
study: small
factors: {{workload: [say], text: {levels}}}
reference: {{text: a}}
repeats: {repeats}
workloads:
  say:
    command: [sh, -c, "{script}"]
    parameters: {{text: {{default: a}}}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
"""
