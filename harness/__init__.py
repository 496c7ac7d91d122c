"""The conformance harness: surveys an AdCP seller over MCP and judges what came back."""

__version__ = "0.1.0"
