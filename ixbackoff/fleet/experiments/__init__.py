"""The experiments: the file of each declares its flags, its table and its picture."""
