import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { runQuarry } from '../cli/quarry.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { joinChatServer } from './chat-server.ts';
import type { TestServer } from './server.ts';
import { joinSharedServer } from './shared-server.ts';
import type { Tenant } from './tenant.ts';

/** Answers over MCP and on the command line, against a real server. */

t.setTimeout(testFileMsMax);
const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

type Joined = Tenant & { readonly server: TestServer };

async function addHandbook({ api }: Tenant): Promise<void> {
  await api.call('collections/add-collection', { collection_name: 'handbook' });
  await api.add('handbook', 'refunds.txt', 'Refunds are paid within 14 days.');
}

async function connect(t: Test, { server, key }: Joined, transportName: 'http' | 'stdio'): Promise<Client> {
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

const hasTool = async (client: Client) =>
  (await client.listTools()).tools.some(({ name }) => name === 'answer');

async function callTool(client: Client, args: object) {
  const result = await client.callTool({ name: 'answer', arguments: { ...args } });
  const [content] = result.content;
  return { isError: result.isError === true, text: content?.type === 'text' ? content.text : '' };
}

const chatting = await joinChatServer();
const { service } = chatting;
await addHandbook(chatting);
const question = 'How long do refunds take?';

await t.test('the tool answers with the numbers and positions of snippets', async (t) => {
  for (const transport of ['http', 'stdio'] as const) {
    const client = await connect(t, chatting, transport);
    t.ok(await hasTool(client), transport);
    service.write = () => 'It takes 14 days [1].';
    const found = await callTool(client, { collection: 'handbook', question, max_snippets: 2 });
    t.equal(found.text, 'It takes 14 days. [1]\n\n[1] refunds.txt, characters 0-32', transport);
    service.write = () => 'NO_ANSWER';
    t.match(await callTool(client, { collection: 'handbook', question }), {
      isError: false,
      text: /^No answer/,
    });
    const missing = await callTool(client, { collection: 'missing', question });
    t.match(missing, { isError: true, text: /missing/ });
    t.match(await callTool(client, { collection: 'handbook', question, max_snippets: 99 }), {
      isError: true,
    });
  }
});

await t.test('the command streams the answer', async (t) => {
  const variables = { QUARRY_URL: chatting.server.url, QUARRY_API_KEY: chatting.key };
  service.write = () => 'It takes 14 days [1]. It is paid.';
  const printed = await runQuarry(['answer', 'handbook', question], { variables });
  t.match(printed, { code: 0, err: /cite no snippet: 1/ });
  t.equal(printed.out, 'It takes 14 days. [1]\n\n[1] refunds.txt page 1, characters 0-32\n');
  t.match(await runQuarry(['answer', 'missing', question], { variables }), { code: 1, err: /missing/ });
});

await t.test('without a chat model, the tool is not offered', async (t) => {
  const joined = await joinSharedServer();
  await addHandbook(joined);
  for (const transport of ['http', 'stdio'] as const) {
    const client = await connect(t, joined, transport);
    t.notOk(await hasTool(client), transport);
    await t.rejects(callTool(client, { collection: 'handbook', question }), /does not exist/, transport);
  }
  const variables = { QUARRY_URL: joined.server.url, QUARRY_API_KEY: joined.key };
  const printed = await runQuarry(['answer', 'handbook', question], { variables });
  t.match(printed, { code: 1, err: /QUARRY_CHAT_URL is not set/ });
});
