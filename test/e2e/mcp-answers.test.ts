import { runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { addHandbook, callTool, connect, hasTool, question } from './answer-tool.ts';
import { joinChatServer } from './chat-server.ts';

/** Answers over MCP and on the command line, against a real server. */

t.setTimeout(testFileMsMax);

const chatting = await joinChatServer();
const { service } = chatting;
await addHandbook(chatting);

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
