// npm @adcp/sdk, as it is: nothing is mended on the way, and nothing is taken away.
//
// Responses are parsed by the MCP SDK, whose exceptions the library's user gets. Then
//   success over MCP and A2A, and the errors of A2A: TaskExecutor, which every call of a client goes through;
//   errors over MCP: the functions that the library exports for them.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { TaskExecutor, extractAdcpErrorFromMcp, extractAdcpErrorFromTransport, getExpectedAction, resolveRecovery } =
  require('@adcp/sdk');
const { CallToolResultSchema, McpError } = require('@modelcontextprotocol/sdk/types.js');

export const adcpExtractor = {
  name: '@adcp/sdk',
  version: require('@adcp/sdk/package.json').version,
  transports: ['mcp', 'a2a'],
  limit: { size: null }, // maxResponseBytes is off by default, and is for the body of an HTTP answer
};

export async function extract({ kind, transport, response }) {
  const parsed = JSON.parse(response);
  if (transport === 'a2a') {
    const result = await executed({ jsonrpc: '2.0', id: 1, result: { ...kindOf(parsed), ...parsed } });
    return kind === 'success' ? { data: payload(result) } : told(result.adcpError);
  }
  if (kind === 'success') return { data: payload(await executed(CallToolResultSchema.parse(parsed))) };
  if ('error' in parsed) {
    const { code, message, data } = parsed.error;
    return told(extractAdcpErrorFromTransport(McpError.fromError(code, message, data)));
  }
  return told(extractAdcpErrorFromMcp(CallToolResultSchema.parse(parsed)));
}

// A2A 0.3 sends `kind` with each of these; vectors leave it out.
function kindOf(answer) {
  if (!answer.status || String(answer.status.state).startsWith('TASK_STATE_')) return {};
  return { kind: 'taskId' in answer ? 'status-update' : 'task' };
}

// What TaskExecutor.executeTask does with the answer of the transport. No tool of AdCP is named, so no schema applies.
function executed(answer) {
  const agent = { id: 'seller', name: 'seller', agent_uri: 'http://127.0.0.1/', protocol: 'mcp' };
  return new TaskExecutor().handleAsyncResponse(agent, 'task', 'tool', {}, answer, []);
}

const payload = result => (result.success ? (result.data ?? null) : null);

const ACTIONS = { retry: 'retry', fix_request: 'surface_to_caller', escalate: 'escalate_to_human' };

// `source`, `compliance_level` and `retryAfterMs` are notes of the library beside the error.
function told(found) {
  if (!found) return { data: null, action: 'generic_error' };
  const { source: _source, compliance_level: _level, retryAfterMs: _ms, ...error } = found;
  return { data: error, action: ACTIONS[getExpectedAction(resolveRecovery(error))] };
}
