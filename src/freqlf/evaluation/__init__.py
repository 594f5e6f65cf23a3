"""How good an estimate is: metrics, regions, spectra, uncertainty, tables and figures."""
