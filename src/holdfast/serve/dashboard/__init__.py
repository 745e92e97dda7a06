"""The window one looks through: pages in a browser, live. Loaded by `serve.pages` when somebody looks."""
