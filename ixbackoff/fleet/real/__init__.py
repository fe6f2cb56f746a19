"""The post's server and client for real: processes, sockets and signals, on loopback."""
