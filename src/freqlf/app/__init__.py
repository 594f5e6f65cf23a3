"""A local page: drop light fields, follow their estimates, look at the results."""
