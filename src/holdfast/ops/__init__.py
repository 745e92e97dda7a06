"""What holdfast can do: one function per operation, (app, parameters) -> value."""
