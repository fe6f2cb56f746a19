"""The experiments of the documents: each is one command, with a table and a picture."""
