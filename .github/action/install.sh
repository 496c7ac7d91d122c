#!/usr/bin/env bash
# Installs pytest-adcp from the action's own checkout (so the action's ref pins it) into a virtual environment of its own.
set -euo pipefail

: "${ADCP_ACTION_BASE_PYTHON:?the python to build on}" "${RUNNER_TEMP:?}" "${GITHUB_ACTION_PATH:?}" "${GITHUB_ENV:?}"
extras=${ADCP_ACTION_EXTRAS:-}
if [[ ! $extras =~ ^([a-z-]+(,[a-z-]+)*)?$ ]]; then
  echo "::error::extras must be names with commas between them"
  exit 4
fi

venv=$RUNNER_TEMP/pytest-adcp
"$ADCP_ACTION_BASE_PYTHON" -m venv "$venv"
python=$venv/bin/python
[[ -x $python ]] || python=$venv/Scripts/python.exe
"$python" -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH${extras:+[$extras]}"
echo "ADCP_ACTION_PYTHON=$python" >> "$GITHUB_ENV"
