"""The result of `tare check` in formats for CI services: JUnit XML, job summaries and code quality."""
