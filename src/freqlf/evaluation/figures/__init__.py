"""Figures: light fields and single estimates (`lightfield`), maps and masks (`maps`), curves, and all (`gallery`)."""
