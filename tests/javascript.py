"""The extraction algorithms in JavaScript, and a way to ask node what it makes of thousands of texts at once."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from typing import Any

import pytest
from pytest_adcp.harness.jsontext import number_string

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: nothing to compare with")

SCRIPT = r"""
const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const onlyError = (v) => Object.keys(v).length === 1 && Object.keys(v)[0] === "adcp_error";

function success(result, limit) {
  if (result.isError) return null;
  const structured = result.structuredContent;
  if (isObject(structured ?? null)) return onlyError(structured) ? null : structured;
  if (!Array.isArray(result.content)) return null;
  for (const item of result.content) {
    if (item.type !== "text" || !item.text) continue;
    if (item.text.length > limit) continue;
    let value;
    try { value = JSON.parse(item.text); } catch { continue; }
    if (isObject(value) && !onlyError(value)) return value;
  }
  return null;
}

function valid(error) {
  if (!isObject(error)) return null;
  if (typeof error.code !== "string" || error.code.length < 1 || error.code.length > 64) return null;
  return JSON.stringify(error).length > 4096 ? null : error;
}

function failure(response) {
  if (response.isError && response.structuredContent?.adcp_error) return valid(response.structuredContent.adcp_error);
  if (response.error?.data?.adcp_error) return valid(response.error.data.adcp_error);
  if (!response.isError || !response.content) return null;
  for (const item of response.content) {
    if (item.type !== "text" || !item.text) continue;
    let value;
    try { value = JSON.parse(item.text); } catch { continue; }
    if (isObject(value) && value.adcp_error) return valid(value.adcp_error);
  }
  return null;
}

const ENVELOPES = ["task", "message", "statusUpdate", "artifactUpdate"];
const isDataPart = (part) => isObject(part?.data ?? null);
const dataParts = (holder) => (Array.isArray(holder?.parts) ? holder.parts.filter(isDataPart) : []);

function open(response) {
  if (!isObject(response)) return response;
  const names = Object.keys(response);
  if (names.length !== 1 || !ENVELOPES.includes(names[0]) || !isObject(response[names[0]])) return response;
  const inner = response[names[0]];
  return Object.keys(inner).some((name) => ENVELOPES.includes(name)) ? null : inner;
}

function taskData(response) {
  const task = open(response);
  let state = task?.status?.state;
  if (typeof state !== "string") return null;
  state = state.replace(/^TASK_STATE_/, "").toLowerCase().replace(/_/g, "-");
  const message = () => dataParts(task.status.message)[0]?.data ?? null;
  if (["working", "submitted", "input-required", "auth-required"].includes(state)) return message();
  if (!["completed", "failed", "canceled", "rejected"].includes(state)) return null;
  const last = dataParts(task.artifacts?.[0]).at(-1)?.data;
  if (last === undefined) return message();
  if (Object.keys(last).join() === "response" && isObject(last.response)) {
    throw Object.assign(new Error(), { name: "Wrapped" });
  }
  return last;
}

// As the words have it: in an envelope too, and without asking for kind.
function taskError(response) {
  const task = open(response);
  const artifacts = Array.isArray(task?.artifacts) ? task.artifacts : [];
  for (const part of [...artifacts, task?.status?.message].flatMap(dataParts)) {
    if (part.data.adcp_error) return valid(part.data.adcp_error);
  }
  return null;
}

// As the code of the page has it, which knows A2A 0.3 alone.
function oldTaskError(task) {
  for (const artifact of task.artifacts || []) {
    for (const part of (artifact.parts || []).filter((part) => part.kind === "data")) {
      if (part.data?.adcp_error) return valid(part.data.adcp_error);
    }
  }
  const parts = task.status?.message?.parts;
  for (const part of Array.isArray(parts) ? parts : []) {
    if (part.kind === "data" && part.data?.adcp_error) return valid(part.data.adcp_error);
  }
  return null;
}

// A form that JSON can carry without losing anything: -0, Infinity, __proto__, the order of members.
function dump(v) {
  if (typeof v === "number") return ["n", Object.is(v, -0) ? "-0" : String(v)];
  if (Array.isArray(v)) return ["a", v.map(dump)];
  if (v !== null && typeof v === "object") return ["o", Object.keys(v).map((k) => [k, dump(v[k])])];
  return v;
}

function attempt(f) {
  try { return { value: f() }; } catch (e) { return { error: e.name }; }
}

function answer({ op, text, limit, base64 }) {
  if (op === "bytes") text = new TextDecoder().decode(Buffer.from(base64, "base64"));
  const parsed = attempt(() => JSON.parse(text));
  if (op === "accepts") return "value" in parsed;
  if (!("value" in parsed)) return null;
  const v = parsed.value;
  const algorithm = {
    success: () => success(v, limit),
    error: () => failure(v),
    "task-data": () => taskData(v),
    "task-error": () => taskError(v),
    "old-task-error": () => oldTaskError(v),
  }[op];
  if (algorithm) {
    const found = attempt(algorithm);
    return "error" in found ? found : { value: dump(found.value) };
  }
  return {
    value: dump(v),
    length: JSON.stringify(v).length,
    truthy: Boolean(v),
    string: attempt(() => String(v)),
  };
}

const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map(answer)));
"""


def ask(cases: list[dict[str, Any]]) -> list[Any]:
    """Run all cases in one node process and return its answers."""
    done = subprocess.run(
        [str(NODE), "-e", SCRIPT],
        input=json.dumps(cases).encode(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:2000]
    answers = json.loads(done.stdout)
    assert len(answers) == len(cases)
    return answers


def dump(value: Any) -> Any:
    """Put one of our values into the form that the script answers in."""
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, list):
        return ["a", [dump(item) for item in value]]
    if isinstance(value, dict):
        return ["o", sorted([name, dump(member)] for name, member in value.items())]
    return ["n", "-0" if value == 0 and math.copysign(1, value) < 0 else number_string(value)]


def settle(form: Any) -> Any:
    """Sort the members in an answer: JavaScript puts numeric names first."""
    if isinstance(form, list) and form[0] == "a":
        return ["a", [settle(item) for item in form[1]]]
    if isinstance(form, list) and form[0] == "o":
        return ["o", sorted([name, settle(member)] for name, member in form[1])]
    return form
