#!/usr/bin/env bash
# Makes the interpreters that real servers are started with, in .integration/ (nothing else reads or writes there).
set -euo pipefail
cd "$(dirname "$0")/../.."

for package in adcp==9.2.0 fastmcp==4.2.3 mcp==1.30.0; do  # exact: what they answer is compared word for word
    folder=.integration/${package%%=*}
    [ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check "$package"
done

if command -v npm > /dev/null; then
    npm install --silent --no-fund --no-audit --prefix .integration/typescript \
        @modelcontextprotocol/sdk@1.32.2 express@5 zod@4 @adcp/sdk@6.11.0
    # Servers with user interfaces (MCP Apps).
    mkdir -p .integration/npm
    npm install --prefix .integration/npm --silent --no-audit --no-fund --no-update-notifier --ignore-scripts \
        @modelcontextprotocol/server-{map,threejs,transcript}@2.0.3 @modelcontextprotocol/server-pdf@2.0.4
    # The published schema of SARIF.
    npm install --prefix .integration/sarif --silent --no-audit --no-fund --no-update-notifier --ignore-scripts \
        @microsoft/jest-sarif@1.0.0-beta.0
    # A judge of pages: the HTML report is looked at in a browser.
    npm install --prefix .integration/axe --silent --no-audit --no-fund --no-update-notifier --ignore-scripts axe-core@4.14.1
else
    echo "npm is not here: the servers of its registry are left out" >&2
fi

if ! command -v chromium > /dev/null && command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core > /dev/null
fi
command -v chromium > /dev/null || echo "chromium is not here: the tests of the HTML report in a browser are left out" >&2
