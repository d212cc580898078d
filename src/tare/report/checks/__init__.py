"""What a check tells a CI service: JUnit XML, job summaries, code quality."""
