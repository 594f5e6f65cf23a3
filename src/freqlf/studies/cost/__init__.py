"""What an estimate costs in time and memory: one way to measure it, for `freqlf bench` and `freqlf scaling`."""
