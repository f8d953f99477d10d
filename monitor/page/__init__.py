"""The page's files: what a browser loads, as it is."""
