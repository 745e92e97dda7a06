"""Many agents: who is at work on this machine, how they are, what they need, what they are to do. Cold."""
