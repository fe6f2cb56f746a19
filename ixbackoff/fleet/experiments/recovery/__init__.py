"""Clients notice that an outage is over, later than it is."""
