#!/usr/bin/env bash
# Makes the interpreters that real servers are started with, in .integration/ (nothing else reads or writes there).
set -euo pipefail
cd "$(dirname "$0")/../.."

for package in adcp==9.2.0 fastmcp==4.2.3; do  # exact: what they answer is compared word for word
    folder=.integration/${package%%=*}
    [ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
    "$folder/bin/pip" install -q --disable-pip-version-check "$package"
done
