"""Rules of the Model Context Protocol that an AdCP answer depends on."""
