// A whole client: the client of the official MCP SDK makes the call, and the reference functions read the answer.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';

import { adcpExtractor as reference, errorFromMcp, payloadFromMcp, told } from './reference.mjs';

export const adcpExtractor = { ...reference, name: 'adcp-reference-js with the MCP SDK', transports: ['mcp'] };

export async function extract({ kind, call, limit }) {
  const answer = await answerOf(call);
  if (kind === 'error') return told(errorFromMcp(answer));
  return { data: answer.error ? null : payloadFromMcp(answer, limit) };
}

async function answerOf({ url, tool, arguments: given }) {
  const client = new Client({ name: 'adcp-example', version: '1.0.0' });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return await client.callTool({ name: tool, arguments: given });
  } catch (error) {
    if (error instanceof McpError) return { error }; // a JSON-RPC error
    throw error;
  } finally {
    await client.close();
  }
}
