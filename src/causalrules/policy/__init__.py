"""Who should get what: contexts, groups and policies."""
