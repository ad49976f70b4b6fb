"""Output of results: terminal, tables, plots, and a report in one HTML file."""
