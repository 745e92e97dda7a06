"""What holdfast knows, as pictures and HTML: the same for a mailed report and for the pages of the service."""
