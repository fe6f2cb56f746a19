"""The server and the clients of the crash for real: processes, sockets and signals."""
