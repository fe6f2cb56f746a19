"""Models of services, fitted to what their clients recorded."""
