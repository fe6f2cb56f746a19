"""A server that gets slower under load is stopped, and a thousand clients try again."""
