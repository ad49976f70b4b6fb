"""Results: rules with their numbers, and their export."""
