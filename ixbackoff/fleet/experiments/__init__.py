"""The experiments: a file each, which declares its flags, its table and its picture."""
