"""What tests share: a folder for each idea."""
