import type { Route } from './route.ts';

export const mcpRoutes: readonly Route[] = [
  {
    kind: 'mcp',
    method: 'POST',
    path: '/mcp',
    operation: 'mcp',
    access: 'read',
    isVersioned: false,
    tag: 'mcp',
    summary: 'Send a message of the Model Context Protocol',
    description:
      'Streamable HTTP without sessions: each request contains one JSON-RPC message, and the response contains its reply. Notifications get 202. The tools search and read the collections of the key, and with `QUARRY_MCP=write` and a key that may write, add and delete documents.',
    example: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
    errorResponses: { 404: 'The operator has disabled MCP (`QUARRY_MCP=off`).' },
  },
];
