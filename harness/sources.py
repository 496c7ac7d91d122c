"""Links to the texts that rules come from."""

from __future__ import annotations

_ADCP = "https://docs.adcontextprotocol.org/docs"
_MCP = "https://modelcontextprotocol.io/specification"


def adcp(page: str, anchor: str = "") -> str:
    """Return a link into the AdCP documentation, e.g. `adcp("building/by-layer/L0/mcp-response-extraction")`."""
    return f"{_ADCP}/{page}" + (f"#{anchor}" if anchor else "")


def mcp(page: str, anchor: str = "", revision: str = "2025-11-25") -> str:
    """Return a link into a revision of the MCP specification."""
    return f"{_MCP}/{revision}/{page}" + (f"#{anchor}" if anchor else "")


def connected_apps(anchor: str = "", page: str = "mcp/server-optimization") -> str:
    """Return a link into the pages of the Connected Apps platform."""
    return f"https://developers.google.com/connected-apps/{page}" + (f"#{anchor}" if anchor else "")


def json_rpc(section: str) -> str:
    """Return a link into the JSON-RPC 2.0 specification."""
    return f"https://www.jsonrpc.org/specification#{section}"


def rfc(number: int, section: str) -> str:
    """Return a link to a section of an RFC."""
    return f"https://www.rfc-editor.org/rfc/rfc{number}#section-{section}"


EXTRACTION = "building/by-layer/L0/mcp-response-extraction"
A2A_EXTRACTION = "building/by-layer/L0/a2a-response-extraction"
MCP_GUIDE = "building/by-layer/L0/mcp-guide"
TRANSPORT_ERRORS = "building/operating/transport-errors"
SCHEMAS = "building/by-layer/L0/schemas"
ERROR_HANDLING = "building/by-layer/L3/error-handling"
SECURITY = "building/by-layer/L1/security"
AUTHENTICATION = "building/by-layer/L2/authentication"
CONTEXT = "building/by-layer/L2/context-sessions"
TASK_LIFECYCLE = "building/by-layer/L3/task-lifecycle"
SANDBOX = "media-buy/advanced-topics/sandbox"
CAPABILITIES_PAGE = "protocol/get_adcp_capabilities"
REQUIRED_TASKS = "protocol/required-tasks"
TEST_CONTROLLER = "building/by-layer/L3/comply-test-controller"
VERSIONING = "reference/versioning"
