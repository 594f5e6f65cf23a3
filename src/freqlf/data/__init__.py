"""Where light fields come from: the HCI benchmark, generated scenes, splits."""
