"""Disparity and depth from 4D light fields."""

__version__ = "0.1.0"
