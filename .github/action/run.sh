#!/usr/bin/env bash
# Judges a seller with the inputs of action.yml, which come as ADCP_ACTION_* and are passed on as whole words, never as shell.
set -euo pipefail

: "${ADCP_ACTION_PYTHON:?the python that has pytest-adcp}" "${GITHUB_OUTPUT:?}"
report_dir=${ADCP_ACTION_REPORT_DIR:-adcp-report}
arguments=("--adcp-report-dir=$report_dir")

# An input that is empty was not given.
option() {
  if [[ -n $2 ]]; then
    arguments+=("$1=$2")
  fi
}
flag() {
  case $2 in
    true) arguments+=("$1") ;;
    false | "") ;;
    *)
      echo "::error::$1 is true or false"
      exit 4
      ;;
  esac
}

option --server-url "${ADCP_ACTION_SERVER_URL:-}"
option --adcp-config "${ADCP_ACTION_CONFIG:-}"
option --adcp-profile "${ADCP_ACTION_PROFILE:-}"
option --adcp-bearer-env "${ADCP_ACTION_BEARER_ENV:-}"
option --adcp-header-env "${ADCP_ACTION_HEADER_ENV:-}"
option --adcp-basic-env "${ADCP_ACTION_BASIC_ENV:-}"
option --adcp-baseline "${ADCP_ACTION_BASELINE:-}"
option --adcp-sarif "${ADCP_ACTION_SARIF:-}"
flag --adcp-quick "${ADCP_ACTION_QUICK:-}"
flag --adcp-strict "${ADCP_ACTION_STRICT:-}"

# In the first night there is nothing to compare with; then every failure is a new one.
if [[ -n ${ADCP_ACTION_COMPARE:-} && -f $ADCP_ACTION_COMPARE ]]; then
  option --adcp-compare "$ADCP_ACTION_COMPARE"
  option --adcp-fail-on "${ADCP_ACTION_FAIL_ON:-}"
elif [[ -n ${ADCP_ACTION_COMPARE:-} ]]; then
  echo "::notice::there is no earlier report to compare with"
else
  option --adcp-fail-on "${ADCP_ACTION_FAIL_ON:-}"
fi

while IFS= read -r line || [[ -n $line ]]; do
  line=${line%$'\r'}
  if [[ -n $line ]]; then
    arguments+=("$line")
  fi
done <<< "${ADCP_ACTION_OPTIONS:-}"

# A report that an earlier step left would be taken for that of this run.
rm -f -- "$report_dir/report.json" "$report_dir/fleet.json"

code=0
"$ADCP_ACTION_PYTHON" -m pytest "${arguments[@]}" || code=$?

"$ADCP_ACTION_PYTHON" - "$report_dir" "$code" >> "$GITHUB_OUTPUT" << 'PYTHON'
import json
import sys
from pathlib import Path

folder, code = Path(sys.argv[1]), sys.argv[2]
gravest = ("nonconformant", "inconclusive", "conformant")
found = set()
for name in ("report.json", "fleet.json"):  # of one server, or of a fleet
    try:
        targets = json.loads((folder / name).read_text(encoding="utf-8"))["targets"]
        found |= {target["verdict"] for target in targets}
    except (OSError, ValueError, KeyError, TypeError):
        continue
verdict = next((verdict for verdict in gravest if verdict in found), "")
print(f"verdict={verdict}")
print(f"exit-code={code}")
print("report-dir=" + str(folder.resolve()).replace("\n", " "))
PYTHON

exit "$code"
