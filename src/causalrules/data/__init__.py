"""Read any table into coded columns."""
