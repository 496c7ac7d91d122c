"""The packaged conformance suites: one module per rule family, one function per rule."""

# In the order of a report: the wire first, then what it carries.
CORE = (
    "pytest_adcp.suites.mcp.lifecycle",
    "pytest_adcp.suites.mcp.jsonrpc",
    "pytest_adcp.suites.mcp.tools",
    "pytest_adcp.suites.mcp.result",
    "pytest_adcp.suites.adcp.extraction",
    "pytest_adcp.suites.adcp.errors",
    "pytest_adcp.suites.adcp.error_members",
    "pytest_adcp.suites.adcp.schemas",
    "pytest_adcp.suites.adcp.security",
)
CLIENT = ("pytest_adcp.suites.client.vectors",)
