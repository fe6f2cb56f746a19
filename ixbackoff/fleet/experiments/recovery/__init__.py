"""How late clients notice that an outage is over."""
