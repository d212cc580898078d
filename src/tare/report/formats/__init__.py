"""What the report is written as: one HTML page, Markdown, LaTeX."""
