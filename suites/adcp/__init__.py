"""Rules of the Ad Context Protocol."""
