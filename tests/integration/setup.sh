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
        @modelcontextprotocol/sdk@1.32.2 express@5 zod@4
fi
