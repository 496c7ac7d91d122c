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
    "pytest_adcp.suites.adcp.envelope",
    "pytest_adcp.suites.adcp.envelope_members",
    "pytest_adcp.suites.adcp.timestamps",
    "pytest_adcp.suites.adcp.contexts",
    "pytest_adcp.suites.adcp.discovery",
    "pytest_adcp.suites.adcp.versions",
    "pytest_adcp.suites.adcp.schemas",
    "pytest_adcp.suites.adcp.security",
    "pytest_adcp.suites.adcp.authentication",
    "pytest_adcp.suites.adcp.leaks",
    "pytest_adcp.suites.adcp.tolerance",
    "pytest_adcp.suites.adcp.pagination",
    "pytest_adcp.suites.adcp.idempotency",
    "pytest_adcp.suites.adcp.lookups",
)
CLIENT = ("pytest_adcp.suites.client.vectors",)
