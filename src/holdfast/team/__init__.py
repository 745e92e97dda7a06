"""What machines of a team have in common: what is sent, what comes back, who may see it."""
