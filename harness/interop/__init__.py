"""The official MCP client against the server: what it makes of the same bytes that the rules judge.

`phase` runs it, in a process of its own (`process`, `client`) behind a tap that sends and records (`tap`); `subjects`
sets what it read beside what came over the wire.
"""
