"""The report: one offline HTML page that answers a study's question and shows the evidence.

`content` computes what the report says, as plain values. `formats` writes it as HTML, Markdown or LaTeX, and
`writing.write_report` puts the files into a folder.

Example::

    campaign = read_campaign(folder)
    write_report(campaign, ReportStatistics.of(campaign), folder / "report")
"""
