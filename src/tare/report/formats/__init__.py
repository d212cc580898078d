"""The formats of the report: an HTML page, Markdown and LaTeX."""
