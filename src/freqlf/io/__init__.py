"""Readers and writers, a module for each file format or kind of picture."""
