// A small conforming seller on the official TypeScript SDK and Express, with sessions, as its examples have it.
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";

// The packages stand in the folder that the argument names.
const require = createRequire(`${process.argv[2]}/package.json`);
const express = require("express");
const { z } = require("zod");
const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = require("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { isInitializeRequest } = require("@modelcontextprotocol/sdk/types.js");

const product = {
  product_id: "homepage",
  name: "Homepage banner",
  description: "A banner above the fold",
  publisher_properties: [{ publisher_domain: "news.example", selection_type: "all" }],
  channels: ["display"],
  format_ids: [{ agent_url: "https://formats.example", id: "banner" }],
  delivery_type: "guaranteed",
  pricing_options: [{ pricing_option_id: "cpm", pricing_model: "cpm", fixed_price: 8, currency: "USD" }],
  reporting_capabilities: {
    available_reporting_frequencies: ["daily"],
    expected_delay_minutes: 60,
    timezone: "UTC",
    supports_webhooks: false,
    available_metrics: ["impressions"],
    date_range_support: "date_range",
  },
};
const context = z.record(z.string(), z.unknown()).optional();

function answer(asked, payload, isError = false) {
  const said = asked.context === undefined ? payload : { ...payload, context: asked.context };
  return { content: [{ type: "text", text: JSON.stringify(said) }], structuredContent: said, isError };
}

function seller() {
  const server = new McpServer({ name: "typescript-sdk-seller", version: "1.0.0" });
  server.registerTool(
    "get_adcp_capabilities",
    { description: "Say what this seller supports.", inputSchema: { context } },
    async (asked) =>
      answer(asked, {
        status: "completed",
        adcp: { major_versions: [3], idempotency: { supported: false } },
        supported_protocols: ["media_buy"],
      }),
  );
  server.registerTool(
    "get_products",
    {
      description: "List the products on sale.",
      inputSchema: {
        buying_mode: z.string(),
        brief: z.string().optional(),
        adcp_major_version: z.number().int().optional(),
        context,
      },
    },
    async (asked) => {
      if ((asked.adcp_major_version ?? 3) === 3) return answer(asked, { status: "completed", products: [product] });
      const adcp_error = {
        code: "VERSION_UNSUPPORTED",
        message: "This seller speaks AdCP 3.",
        recovery: "correctable",
        field: "adcp_major_version",
        details: { supported_versions: ["3.0"] },
      };
      return answer(asked, { status: "failed", adcp_error }, true);
    },
  );
  return server;
}

const transports = new Map();
const refuse = (response, status, message) =>
  response.status(status).json({ jsonrpc: "2.0", error: { code: -32000, message }, id: null });

async function handle(request, response) {
  const id = request.headers["mcp-session-id"];
  if (id !== undefined) {
    const open = transports.get(id);
    if (open === undefined) return refuse(response, 404, "Session not found");
    return open.handleRequest(request, response, request.body);
  }
  if (!isInitializeRequest(request.body)) return refuse(response, 400, "Bad Request: no session id");
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (issued) => transports.set(issued, transport),
  });
  transport.onclose = () => transports.delete(transport.sessionId);
  await seller().connect(transport);
  return transport.handleRequest(request, response, request.body);
}

const app = express();
app.use(express.json());
app.all("/mcp", handle);
const listener = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${listener.address().port}/mcp\n`);
});
process.stdin.resume();
process.stdin.on("end", () => process.exit(0)); // with the process that started it
