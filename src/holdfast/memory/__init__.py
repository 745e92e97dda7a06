"""What is kept for later sessions: topics in the client's own folder, and the rules it reads."""
