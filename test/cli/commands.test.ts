import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectionOption } from '../../src/cli/command.ts';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';
import { adminKey, openFakeServer } from './fake-server.ts';
import { runQuarry, runQuarryProcess } from './quarry.ts';

t.test(
  'keys uses the admin key, names the organization, and prints a new key alone on its line',
  async (t) => {
    const { server, variables } = await openFakeServer(t);
    const organization = '6f0c3c2e-1f0b-4b62-9a0a-0c7d7b0f2d11';
    const admin = { ...variables, QUARRY_ADMIN_KEY: adminKey, QUARRY_ORGANIZATION: organization };
    server.fixedReplies.set('admin/add-api-key', { api_key: 'ze_new' });
    server.fixedReplies.set('admin/delete-api-key', { message: 'Success!' });
    const entry = {
      id: 'id-1',
      created_at: '2026-01-01',
      name: 'web',
      permission: 'read_only',
      created_by: null,
      allowed_origins: [],
    };
    const restriction = { collection_names: ['a', 'b'], filter: { tenant: 'x' } };
    const restricted = {
      ...entry,
      id: 'id-2',
      restriction,
      api_key: 'ze_...efgh',
      allowed_origins: ['https://a.com'],
    };
    server.fixedReplies.set('admin/list-api-keys', {
      api_keys: [{ ...entry, api_key: 'ze_...abcd' }, restricted],
    });
    t.equal((await runQuarry(['keys', 'add', 'web', '--read-only'], { variables: admin })).out, 'ze_new\n');
    const bounds = ['--collections', 'a', 'b', '--filter', '{"tenant":"x"}'];
    await runQuarry(['keys', 'add', 'part', ...bounds], { variables: admin });
    const listed = (await runQuarry(['keys', 'list'], { variables: admin })).out;
    t.match(listed, /id-1 {2}web {3}read_only {3}everything {17,20}ze_\.\.\.abcd/);
    t.match(
      listed,
      /id-2 {2}web {3}read_only {3}a, b where \{"tenant":"x"\} {2}ze_\.\.\.efgh {2}https:\/\/a\.com/,
    );
    const change = (...flags: string[]) =>
      runQuarry(['keys', 'update', 'id-1', ...flags], { variables: admin });
    server.fixedReplies.set('admin/update-api-key', { message: 'Success!' });
    t.equal((await change('--origins', 'https://a.com', 'https://b.com', '--name', 'site')).code, 0);
    t.equal((await change('--no-origins')).code, 0);
    t.equal((await change()).code, 2, 'nothing to change');
    t.equal((await runQuarry(['keys', 'delete', 'id-1', '-y'], { variables: admin })).code, 0);
    t.same(server.bodies('admin/add-api-key'), [
      { organization_id: organization, name: 'web', permission: 'read_only' },
      { organization_id: organization, name: 'part', permission: 'all', restriction },
    ]);
    const changed = { organization_id: organization, api_key_id: 'id-1' };
    t.same(server.bodies('admin/update-api-key'), [
      { ...changed, name: 'site', allowed_origins: ['https://a.com', 'https://b.com'] },
      { ...changed, allowed_origins: [] },
    ]);
    t.same(server.bodies('admin/delete-api-key'), [{ organization_id: organization, api_key_id: 'id-1' }]);
    for (const request of server.requests) t.equal(request.headers.authorization, `Bearer ${adminKey}`);

    const nameless = await runQuarry(['keys', 'list'], {
      variables: { ...variables, QUARRY_ADMIN_KEY: adminKey },
    });
    t.equal(nameless.code, 2, 'without an organization no request is sent');
    t.match(nameless.err, /--organization/);
  },
);

t.test('a request to a busy server is retried, and a 422 names the field', async (t) => {
  const { server, variables } = await openFakeServer(t);
  let calls = 0;
  server.intercept = () => {
    calls += 1;
    if (calls < 3) return { status: 503, headers: { 'retry-after-ms': '10' }, body: { detail: 'starting' } };
    return { status: 422, body: { detail: [{ loc: ['body', 'k'], msg: 'must be an integer', type: 'x' }] } };
  };
  const ended = await runQuarry(['search', 'q'], { variables });
  t.equal(ended.code, 1);
  t.equal(calls, 3);
  t.match(ended.err, /body\.k: must be an integer/);
});

t.test('help lists every command, examples and exit codes, and exits with 0', async (t) => {
  const help = await runQuarry(['--help']);
  t.equal(help.code, 0);
  for (const word of [
    'serve',
    'ingest',
    'search',
    'status',
    'collections',
    'documents',
    'keys',
    'config',
    'version',
  ]) {
    t.match(help.out, new RegExp(`\\n {2}${word}`));
  }
  t.match(help.out, /Exit codes:\n {2}0 {4}done/);
  const ingest = await runQuarry(['ingest', '--help']);
  t.equal(ingest.code, 0);
  t.match(ingest.out, /Examples:\n {2}quarry ingest docs\//);
  t.match(ingest.out, /--key, --api-key <value>/);
});

t.test('an unknown command is rejected with the nearest name', async (t) => {
  const ended = await runQuarry(['serach', 'q']);
  t.equal(ended.code, 2);
  t.match(ended.err, /unknown command 'serach'[\s\S]*Did you mean search\?/);
});

t.test('wrong usage of a command points to the help of that command', async (t) => {
  const cases: [string[], string][] = [
    [['search', 'q', '--foo'], "unknown option '--foo' (see `quarry search --help`)"],
    [['documents', 'list', '--foo'], "unknown option '--foo' (see `quarry documents list --help`)"],
    [['search'], "missing required argument 'question' (see `quarry search --help`)"],
    [['documents', 'foo'], "unknown command 'foo' (see `quarry documents --help`)"],
    [['--foo'], "unknown option '--foo' (see `quarry --help`)"],
  ];
  for (const [words, message] of cases) {
    const ended = await runQuarry(words);
    t.equal(ended.code, 2);
    t.equal(ended.err, `quarry: ${message}\n`);
  }
});

t.test('a missing key is reported with the setting that provides it', async (t) => {
  const { server } = await openFakeServer(t);
  server.intercept = () => ({
    status: 401,
    body: { detail: 'Missing API key: send the header "Authorization: Bearer <key>".' },
  });
  const variables = { QUARRY_URL: server.url, QUARRY_ORGANIZATION: '6f0c3c2e-1f0b-4b62-9a0a-0c7d7b0f2d11' };
  const search = await runQuarry(['search', 'q'], { variables });
  t.equal(search.err, 'quarry: No API key. Set QUARRY_API_KEY or --api-key.\n');
  const keys = await runQuarry(['keys', 'list'], { variables });
  t.equal(keys.err, 'quarry: No admin key. Set QUARRY_ADMIN_KEY or --admin-key.\n');
});

t.test('the dashboard uploads to the collection that commands use by default', async (t) => {
  const page = readFileSync(join(projectRoot, 'web', 'src', 'pages', 'upload.tsx'), 'utf8');
  t.match(page, `const firstCollection = '${collectionOption.default}';`);
});

t.test('config masks secrets and shows the source of each value; version needs no server', async (t) => {
  const variables = { QUARRY_API_KEY: 'secret-secret-secret', QUARRY_PORT: '9000' };
  const printed = await runQuarry(['config', '--host', '0.0.0.0'], { variables });
  t.match(printed.out, /QUARRY_PORT = 9000 {2}\[variable\]/);
  t.match(printed.out, /QUARRY_HOST = 0\.0\.0\.0 {2}\[flag\]/);
  t.notOk(printed.out.includes('secret-secret'));
  const { settings } = JSON.parse((await runQuarry(['config', '--json'], { variables })).out);
  const apiKey = settings.find((setting: { name: string }) => setting.name === 'apiKey');
  t.match(apiKey, { variable: 'QUARRY_API_KEY', source: 'variable', value: 'secr…****' });
  for (const word of ['version', '--version', '-V'])
    t.match((await runQuarry([word])).out, /^quarry \d+\.\d+\.\d+, node \d+/);
});

t.test('an invalid setting ends serve before anything starts, with exit code 2', async (t) => {
  const ended = await runQuarry(['serve', '--port', '70000'], { variables: { QUARRY_PROT: '1' } });
  t.equal(ended.code, 2);
  t.match(ended.err, /QUARRY_PROT is not a setting\. Did you mean QUARRY_PORT\?/);
  t.match(ended.err, /--port is "70000"; expected a whole number from 0 to 65535\./);
});

t.test('synonyms of a collection are given as words separated by commas', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const reply = { message: 'Success!' };
  for (const action of ['add', 'update']) server.fixedReplies.set(`collections/${action}-collection`, reply);
  const lists = ['--synonyms', 'refund, reimbursement', '--synonyms', 'k8s,kubernetes,'];
  const synonyms = [
    ['refund', 'reimbursement'],
    ['k8s', 'kubernetes'],
  ];
  const updated = await runQuarry(['collections', 'update', 'handbook', ...lists], { variables });
  t.equal(updated.out, `Synonyms of handbook: ${JSON.stringify(synonyms)}\n`, updated.err);
  await runQuarry(['collections', 'update', 'handbook', '--synonyms', ''], { variables });
  t.same(server.bodies('collections/update-collection'), [
    { collection_name: 'handbook', synonyms },
    { collection_name: 'handbook', synonyms: [] },
  ]);
  await runQuarry(['collections', 'add', 'handbook', ...lists], { variables });
  t.match(server.bodies('collections/add-collection'), [{ collection_name: 'handbook', synonyms }]);
});

t.test('stop words of a collection are given as words separated by commas', async (t) => {
  const { server, variables } = await openFakeServer(t);
  server.fixedReplies.set('collections/update-collection', { message: 'Success!' });
  const update = (...words: readonly string[]) =>
    runQuarry(['collections', 'update', 'handbook', ...words.flatMap((list) => ['--stop-words', list])], {
      variables,
    });
  const updated = await update('acme, inc,', 'gmbh');
  t.equal(updated.out, 'Stop words of handbook: ["acme","inc","gmbh"]\n', updated.err);
  await update('');
  t.same(server.bodies('collections/update-collection'), [
    { collection_name: 'handbook', stop_words: ['acme', 'inc', 'gmbh'] },
    { collection_name: 'handbook', stop_words: [] },
  ]);
});

t.test('suggest prints completed queries', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const reply = { suggestions: [{ query: 'refund policy', num_documents: 2 }] };
  server.fixedReplies.set('queries/suggest', reply);
  const words = ['suggest', 'refund', 'po', '--collection', 'handbook'];
  t.match(await runQuarry(words, { variables }), { code: 0, out: 'refund policy\n' });
  const json = await runQuarry([...words, '--limit', '3', '--json'], { variables });
  t.same(JSON.parse(json.out), reply);
  const request = { collection_name: 'handbook', query: 'refund po' };
  t.same(server.bodies('queries/suggest'), [
    { ...request, limit: 5 },
    { ...request, limit: 3 },
  ]);
});

t.test('curations of a collection are given as JSON', async (t) => {
  const { server, variables } = await openFakeServer(t);
  server.fixedReplies.set('collections/update-collection', { message: 'Success!' });
  const update = (json: string) =>
    runQuarry(['collections', 'update', 'handbook', '--curations', json], { variables });
  const curations = [{ queries: ['refund'], pinned: ['a.md'], hidden: ['b.md'] }];
  const updated = await update(JSON.stringify(curations));
  t.equal(updated.out, `Curations of handbook: ${JSON.stringify(curations)}\n`, updated.err);
  await update('[]');
  t.match(await update('{}'), { code: 2, err: /--curations must be a JSON array/ });
  t.match(await update('['), { code: 2, err: /--curations is not JSON/ });
  const schema = ['collections', 'update', 'handbook', '--metadata-schema'];
  t.match(await runQuarry([...schema, '['], { variables }), {
    code: 2,
    err: /--metadata-schema is not JSON/,
  });
  t.match(await runQuarry([...schema, '[]'], { variables }), {
    code: 2,
    err: /--metadata-schema must be a JSON object/,
  });
  t.same(server.bodies('collections/update-collection'), [
    { collection_name: 'handbook', curations },
    { collection_name: 'handbook', curations: [] },
  ]);
});

t.test('the process of a command ends with its exit code, results and errors in their streams', async (t) => {
  const { server, variables } = await openFakeServer(t);
  server.collections.set('handbook', new Map());
  const listed = await runQuarryProcess(['collections', 'list', '--json'], { variables });
  t.match(listed, { code: 0, out: /"handbook"/, err: '' });
  const refused = await runQuarryProcess(['collections', 'add'], { variables });
  t.match(refused, { code: 2, out: '', err: /missing required argument/ });
  await server.close();
  t.match(await runQuarryProcess(['status'], { variables }), { code: 3, out: '', err: /^quarry: / });
});
