"""The squirrel's command line, its stores and its index, as tests look at them."""
