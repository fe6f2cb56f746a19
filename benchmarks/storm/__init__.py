"""The crash on real sockets: a server, its clients, and the whole storm with its verdict."""
