"""The modelled services, and the base class of your own."""
