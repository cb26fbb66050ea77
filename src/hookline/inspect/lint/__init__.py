"""The findings of `hookline check`."""
