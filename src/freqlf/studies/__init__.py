"""Studies: what a component, the number of Fourier modes or the meaning of Fourier weights is worth."""
