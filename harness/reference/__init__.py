"""The rule reference: what is told about a rule, with bytes that break it and bytes that keep it."""
