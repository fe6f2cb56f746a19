"""`python -m ixbackoff explain CODE`: a mistake by its code."""
