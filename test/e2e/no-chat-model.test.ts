import { runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { addHandbook, callTool, connect, hasTool, question } from './answer-tool.ts';
import { TestServer } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** Requests for answers to a server without a chat model. */

t.setTimeout(testFileMsMax);
const joined = await joinSharedServer();
const { server, api, key } = joined;
await addHandbook(joined);

await t.test('without QUARRY_CHAT_URL, the error names the setting', async (t) => {
  for (const stream of [false, true]) {
    const reply = await api.request('answers', { collection_name: 'handbook', question, stream });
    t.match(reply, { status: 503, body: { detail: /QUARRY_CHAT_URL is not set/ } });
    t.equal(reply.headers.get('x-should-retry'), 'false');
  }
  await t.rejects(TestServer.start(t, { CHAT_URL: 'http://127.0.0.1:9/v1' }), {
    message: /QUARRY_CHAT_URL is set without QUARRY_CHAT_MODEL/,
  });
});

await t.test('without a chat model, the tool is not offered', async (t) => {
  for (const transport of ['http', 'stdio'] as const) {
    const client = await connect(t, joined, transport);
    t.notOk(await hasTool(client), transport);
    await t.rejects(callTool(client, { collection: 'handbook', question }), /does not exist/, transport);
  }
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: key };
  const printed = await runQuarry(['answer', 'handbook', question], { variables });
  t.match(printed, { code: 1, err: /QUARRY_CHAT_URL is not set/ });
});
