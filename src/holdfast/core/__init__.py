"""Hot and pure: values in, values out. No files, clock, environment or randomness."""
