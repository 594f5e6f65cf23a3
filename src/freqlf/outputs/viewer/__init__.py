"""An estimate as one HTML page to look around in."""
