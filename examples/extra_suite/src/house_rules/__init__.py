"""Rules of one's own for pytest-adcp."""
