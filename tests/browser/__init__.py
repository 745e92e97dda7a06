"""A package, so that what its tests share ends with them: a browser brings an event loop along."""
