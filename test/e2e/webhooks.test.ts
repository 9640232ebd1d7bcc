import { createHmac } from 'node:crypto';
import { runQuarry, runQuarryProcess } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { joinSourceServer } from './source-server.ts';

t.setTimeout(testFileMsMax);

const { server, key, webhooks: receiver } = await joinSourceServer();
const { received, port } = receiver;

async function call(operation: string, body: object = {}) {
  const response = await fetch(`${server.url}/v1/${operation}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, string>> };
}

t.test('changes arrive in order, signed, and again after a failure and a kill', async (t) => {
  await call('collections/add-collection', { collection_name: 'c' });
  const url = `http://127.0.0.1:${port}/hook`;
  t.equal((await call('webhooks/add-webhook', { url: 'http://127.0.0.1:1/' })).status, 403);
  const added = await call('webhooks/add-webhook', { url });
  t.equal(added.status, 201);
  const { webhook_id, secret = '' } = added.body;
  t.match((await call('webhooks/test-webhook', { webhook_id })).body, { delivered: true });
  received.length = 0;
  const add = (path: string) =>
    call('documents/add-document', { collection_name: 'c', path, content: { type: 'text', text: 'x' } });
  await add('a');
  await waitUntil('two deliveries', () => received.length >= 2);
  const secretKey = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const checkSignature = ({ headers, body }: (typeof received)[number]) => {
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', secretKey).update(content).digest('base64');
    t.equal(headers['webhook-signature'], `v1,${signature}`);
  };
  checkSignature(received[0]!);
  receiver.status = 500;
  await add('b');
  await waitUntil('a failure', () => received.length >= 3);
  await server.stop('SIGKILL');
  const rotated = await runQuarry(['rotate-secret', '--forget-earlier', '--data', server.data]);
  t.equal(rotated.code, 0, rotated.err);
  receiver.status = 200;
  await server.restart();
  await waitUntil('the rest', () => received.length >= 5);
  checkSignature(received.at(-1)!);
  const sequences = received.map((message) => JSON.parse(message.body).data.sequence);
  t.same([...new Set(sequences)], [1, 2, 3, 4]);
  await waitUntil('the position is stored', async () => {
    const { webhooks } = (await call('webhooks/list-webhooks')).body;
    return (webhooks as unknown as { sequence: number }[])[0]?.sequence === 4;
  });
  const { deliveries } = (await call('webhooks/list-deliveries', { webhook_id })).body;
  t.match((deliveries as unknown as object[])[0], { sequence: 4, status: 200, error: null });
  t.match((await call('webhooks/list-webhooks')).body, { webhooks: [{ status: 'active', sequence: 4 }] });
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  t.match(metrics, /^quarry_webhooks\{status="active"\} 1$/m);
  t.match(metrics, /^quarry_webhook_attempts_total\{outcome="delivered"\} [1-9]/m);
  t.match(metrics, /^quarry_webhook_lag_seconds 0$/m);
  received.length = 0;
  t.equal((await call('webhooks/replay-webhook', { webhook_id, sequence: 3 })).status, 200);
  await waitUntil('the replay', () => received.length >= 2);
  t.equal((await call('webhooks/delete-webhook', { webhook_id })).status, 200);
});

t.test('the command line manages webhooks', async (t) => {
  receiver.status = 200;
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: key };
  const quarry = (...args: string[]) => runQuarry(['webhooks', ...args], { variables });
  const url = `http://127.0.0.1:${port}/cli`;
  const filter = ['--types', 'document.added', '--collections', 'c'];
  const created = await runQuarryProcess(['webhooks', 'create', url, ...filter], { variables });
  t.equal(created.code, 0, created.err);
  t.match(created.out, /^whsec_\S+\n$/, 'a script receives only the secret');
  const id = /Webhook (\S+) created/.exec(created.err)![1]!;
  t.match((await quarry('list')).out, new RegExp(`${id} +${url} +document.added +c +active`));
  t.match((await quarry('test', id)).out, /^Accepted with the status 200 after \d+ ms\.\n$/);
  receiver.status = 500;
  t.match(await quarry('test', id), { code: 1, out: /Not accepted: .* status 500/ });
  receiver.status = 200;
  received.length = 0;
  const content = { type: 'text', text: 'x' };
  await call('documents/add-document', { collection_name: 'c', path: 'cli', content });
  const isPositionAt = async (sequence: number) => {
    const { webhooks } = (await call('webhooks/list-webhooks')).body;
    return (webhooks as unknown as { sequence: number }[])[0]?.sequence === sequence;
  };
  await waitUntil('the delivery and the skipped change', () => isPositionAt(6));
  t.match((await quarry('deliveries', id)).out, / +5 +document\.added +200 /);
  t.match(await quarry('replay', id), { code: 2, err: /Set --from to the sequence number/ });
  t.equal((await quarry('replay', id, '--from', '5')).code, 0);
  await waitUntil('the replay', () => received.length === 2);
  const filters = ['--all-types', '--all-collections', '--description', 'cache'];
  const changes = [...filters, '--status', 'paused', '--new-url', `${url}/2`];
  t.equal((await quarry('update', id, ...changes)).code, 0);
  t.match((await call('webhooks/list-webhooks')).body, {
    webhooks: [
      { types: null, collection_names: null, description: 'cache', status: 'paused', url: `${url}/2` },
    ],
  });
  t.match((await quarry('rotate-secret', id)).out, /^whsec_/);
  t.match(await quarry('delete', id), { code: 2, err: /Use --yes/ });
  t.equal((await quarry('delete', id, '--yes')).code, 0);
  t.same((await call('webhooks/list-webhooks')).body, { webhooks: [] });
});
