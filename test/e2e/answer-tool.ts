import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Test } from '../support/tap.ts';
import type { TestServer } from './server.ts';
import type { Tenant } from './tenant.ts';

/** Clients of MCP that call the tool `answer`, and a collection for its questions. */

const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
export const question = 'How long do refunds take?';

type Joined = Tenant & { readonly server: TestServer };

export async function addHandbook({ api }: Tenant): Promise<void> {
  await api.call('collections/add-collection', { collection_name: 'handbook' });
  await api.add('handbook', 'refunds.txt', 'Refunds are paid within 14 days.');
}

export async function connect(
  t: Test,
  { server, key }: Joined,
  transportName: 'http' | 'stdio',
): Promise<Client> {
  const { url } = server;
  const headers = { authorization: `Bearer ${key}` };
  const transport =
    transportName === 'http'
      ? new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
      : new StdioClientTransport({
          command: process.execPath,
          args: [command, 'mcp'],
          env: { PATH: '/usr/bin:/bin', QUARRY_URL: url, QUARRY_API_KEY: key },
        });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  t.teardown(() => client.close());
  return client;
}

export const hasTool = async (client: Client) =>
  (await client.listTools()).tools.some(({ name }) => name === 'answer');

export async function callTool(client: Client, args: object) {
  const result = await client.callTool({ name: 'answer', arguments: { ...args } });
  const [content] = result.content;
  return { isError: result.isError === true, text: content?.type === 'text' ? content.text : '' };
}
