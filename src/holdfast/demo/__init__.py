"""An example session, performed through the real engine, for whoever wants to see before installing."""
