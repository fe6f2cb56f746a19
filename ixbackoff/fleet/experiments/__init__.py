"""The experiments: a package each, from the model to the table, the picture and the command."""
