"""From light fields to disparity: opening, order of views, shear, tiles, memory, export."""
