"""`python -m freqlf` is the same as `freqlf`."""

from freqlf.cli.main import run_and_exit

run_and_exit()
