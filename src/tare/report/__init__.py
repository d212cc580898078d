"""The report: one offline page that answers the study's question and shows its evidence."""
