"""The networks, composed from small parts."""
