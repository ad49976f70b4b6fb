"""Everything that shows results: terminal, tables, plots, and a report in one HTML file."""
