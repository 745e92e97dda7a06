"""Many agents: who is at work on this machine, how they are, and what they need. Cold: any library."""
