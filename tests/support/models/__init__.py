"""Models of small worlds for the explorer, most of them in pairs: one is wrong, one is right."""
