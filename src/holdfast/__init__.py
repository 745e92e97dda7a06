"""holdfast keeps a coding agent's work alive when its context window fills up."""

__version__ = "0.1.0"
