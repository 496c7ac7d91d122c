"""The Connected Apps profile: what a platform that puts MCP servers in front of people asks of one."""
