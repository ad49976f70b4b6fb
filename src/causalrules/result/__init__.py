"""What a search found: rules with their numbers, and their export."""
