"""Our own extraction and error vectors."""
