"""Trained weights: the files inside the package, what is known about each, and how to load them."""
