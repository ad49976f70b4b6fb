"""Results to look at: plots, and a report in one HTML file."""
