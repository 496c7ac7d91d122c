// The reference code of AdCP's pages on extraction, written anew: what it does, and nothing that only the text asks for.
//
//   MCP successes: https://docs.adcontextprotocol.org/docs/building/by-layer/L0/mcp-response-extraction
//   A2A successes: https://docs.adcontextprotocol.org/docs/building/by-layer/L0/a2a-response-extraction
//   errors and actions: https://docs.adcontextprotocol.org/docs/building/operating/transport-errors

const LIMIT = 1_048_576; // UTF-16 units of a text, as the code of the page has it

export const adcpExtractor = {
  name: 'adcp-reference-js',
  version: '2026-08',
  transports: ['mcp', 'a2a'],
  limit: { size: LIMIT, unit: 'utf-16', configurable: true },
};

export function extract({ kind, transport, response: text, limit = LIMIT }) {
  const response = JSON.parse(text);
  if (kind === 'success') {
    return { data: transport === 'mcp' ? payloadFromMcp(response, limit) : payloadFromA2a(response) };
  }
  return told(transport === 'mcp' ? errorFromMcp(response) : errorFromA2a(opened(response)));
}

export function told(error) {
  return { data: error, ...(error ? actionFor(error) : { action: 'generic_error' }) };
}

const isObject = value => value !== null && typeof value === 'object' && !Array.isArray(value);

function hasOnly(object, name) {
  const names = Object.keys(object);
  return names.length === 1 && names[0] === name;
}

// -- MCP -----------------------------------------------------------------------------------------------------

export function payloadFromMcp(result, limit = LIMIT) {
  if (result.isError) return null;
  const structured = result.structuredContent;
  if (isObject(structured)) return hasOnly(structured, 'adcp_error') ? null : structured;
  if (!Array.isArray(result.content)) return null;
  for (const { type, text } of result.content) {
    if (type !== 'text' || !text || text.length > limit) continue;
    const found = parsed(text);
    if (isObject(found) && !hasOnly(found, 'adcp_error')) return found;
  }
  return null;
}

// In the order of the page; a JSON-RPC error reaches the caller of an MCP SDK as an exception that carries its data.
export function errorFromMcp(response) {
  const structured = response.isError && response.structuredContent?.adcp_error;
  if (structured) return checked(structured);
  const carried = response.error?.data?.adcp_error;
  if (carried) return checked(carried);
  if (!response.isError) return null;
  for (const { type, text } of response.content || []) {
    if (type !== 'text' || !text) continue;
    const found = parsed(text);
    if (isObject(found) && found.adcp_error) return checked(found.adcp_error);
  }
  return null;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checked(error) {
  if (!isObject(error) || typeof error.code !== 'string') return null;
  if (error.code.length < 1 || error.code.length > 64) return null;
  return JSON.stringify(error).length > 4096 ? null : error;
}

// -- A2A -----------------------------------------------------------------------------------------------------

const ENVELOPES = ['task', 'message', 'statusUpdate', 'artifactUpdate'];
const FINAL = ['completed', 'failed', 'canceled', 'rejected'];
const INTERIM = ['working', 'submitted', 'input-required', 'auth-required'];

export function payloadFromA2a(answer) {
  const task = opened(answer);
  const state = plainState(task?.status?.state);
  if (FINAL.includes(state)) {
    const last = task.artifacts?.[0]?.parts?.filter(carriesData).at(-1);
    if (last && hasOnly(last.data, 'response') && typeof last.data.response === 'object') {
      throw new WrapperError('the DataPart is the wrapper of a framework: {"response": ...}');
    }
    return last ? last.data : payloadFromMessage(task);
  }
  return INTERIM.includes(state) ? payloadFromMessage(task) : null;
}

class WrapperError extends Error {
  name = 'WrapperError';
}

function opened(answer) {
  if (!isObject(answer)) return answer;
  const [name, ...others] = Object.keys(answer);
  const inner = answer[name];
  return others.length === 0 && ENVELOPES.includes(name) && inner !== null && typeof inner === 'object' ? inner : answer;
}

function plainState(state) {
  return typeof state === 'string' ? state.replace(/^TASK_STATE_/, '').toLowerCase().replaceAll('_', '-') : null;
}

const carriesData = part => part != null && isObject(part.data ?? null);

function payloadFromMessage(task) {
  const parts = task.status?.message?.parts;
  return (Array.isArray(parts) && parts.find(carriesData)?.data) || null;
}

// Here a part needs its `kind`, as A2A 0.3 writes it: so the code of the page on errors has it.
function errorFromA2a(task) {
  const places = [...(task.artifacts || []).map(artifact => artifact.parts || []), task.status?.message?.parts];
  for (const parts of places.filter(Array.isArray)) {
    for (const part of parts) {
      if (part.kind === 'data' && part.data?.adcp_error) return checked(part.data.adcp_error);
    }
  }
  return null;
}

// -- actions -------------------------------------------------------------------------------------------------

const RECOVERY = new Map([
  ...'RATE_LIMITED SERVICE_UNAVAILABLE CONFLICT'.split(' ').map(code => [code, 'transient']),
  ...`INVALID_REQUEST AUTH_MISSING AUTH_REQUIRED POLICY_VIOLATION PRODUCT_NOT_FOUND PRODUCT_UNAVAILABLE
      PROPOSAL_EXPIRED PROPOSAL_NOT_FOUND MULTI_FINALIZE_UNSUPPORTED REQUOTE_REQUIRED BUDGET_TOO_LOW
      CREATIVE_REJECTED UNSUPPORTED_FEATURE AUDIENCE_TOO_SMALL ACCOUNT_MOVED ACCOUNT_IDENTITY_CONFLICT
      ACCOUNT_SETUP_REQUIRED ACCOUNT_AMBIGUOUS COMPLIANCE_UNSATISFIED GOVERNANCE_DENIED MEDIA_BUY_NOT_FOUND
      PACKAGE_NOT_FOUND CREATIVE_NOT_FOUND SIGNAL_NOT_FOUND SESSION_NOT_FOUND SESSION_TERMINATED
      REFERENCE_NOT_FOUND VALIDATION_ERROR`
    .split(/\s+/)
    .map(code => [code, 'correctable']),
]); // every other code is terminal

function actionFor(error) {
  switch (error.recovery || RECOVERY.get(error.code)) {
    case 'transient':
      return { action: 'retry', retry_after: wait(error.retry_after) };
    case 'correctable':
      return { action: 'surface_to_caller' };
    default:
      return { action: 'escalate_to_human' };
  }
}

const wait = seconds => (Number.isFinite(seconds) ? Math.min(3600, Math.max(1, Math.ceil(seconds))) : null);
