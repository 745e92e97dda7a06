"""The command line: translation only. Commands are made from the registry."""
