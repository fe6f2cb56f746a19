"""Servers on loopback, real ones and scripted ones, and what stands before them."""
