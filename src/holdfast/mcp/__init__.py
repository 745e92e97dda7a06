"""The server for agents: every operation but the local ones as a tool. Translation only."""
