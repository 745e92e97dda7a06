"""Hot: the only code that touches the file system."""
