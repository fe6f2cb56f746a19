"""Killing durable runs and squirrels at random moments, and checking what they leave."""
