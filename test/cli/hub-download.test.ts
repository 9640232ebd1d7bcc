import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CatalogModel } from '../../src/cli/hub/catalog.ts';
import { downloadFiles } from '../../src/cli/hub/download.ts';
import { HubClient } from '../../src/cli/hub/hub-client.ts';
import { repeatRequests } from '../../src/cli/hub/repeat.ts';
import { planDownload } from '../../src/cli/hub/select-files.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { commit, FakeHub, listEntry, modelFiles, repository, sha256Of } from './fake-hub.ts';

/** Downloads from a hub with faults. */

t.setTimeout(testFileMsMax);

const weights = 'onnx/model.onnx.notes';
const neverAborted = new AbortController().signal;

/** Writes what an interrupted run leaves. */
function writePart(folder: string, bytes: number): void {
  mkdirSync(join(folder, 'onnx'), { recursive: true });
  writeFileSync(join(folder, `${weights}.part`), modelFiles[weights]!.subarray(0, bytes));
}

interface DownloadInput {
  readonly hub: FakeHub;
  readonly folder: string;
  readonly token?: string | null;
  readonly graph?: string | null;
  readonly pins?: CatalogModel | null;
}

async function run(
  t: Pick<Test, 'teardown'>,
  { hub, folder, token = null, graph = null, pins = null }: DownloadInput,
): Promise<readonly string[]> {
  const variables = { endpoint: hub.url, token, httpProxy: '', httpsProxy: '', noProxy: '' };
  const client = new HubClient({ ...variables, signal: neverAborted });
  t.teardown(() => client.close());
  const options = { signal: neverAborted, waitMsFirst: 1 };
  const found = await repeatRequests(options, () => client.readRepository(repository, 'main'));
  const plan = planDownload(found, { repository, graph, pins });
  await downloadFiles(plan, { ...options, client, folder, onProgress: () => {} });
  return plan.files.map(({ path }) => path);
}

t.test(
  'a model is downloaded with its tokenizer, graph and license, and the token stays at the hub',
  async (t) => {
    const hub = await FakeHub.start(t);
    const folder = t.testdir();
    const paths = await run(t, { hub, folder, token: 'hf_secret' });
    t.same([...paths].sort(), ['LICENSE', 'config.json', 'onnx/model.onnx', weights, 'tokenizer.json']);
    for (const path of paths) t.ok(readFileSync(join(folder, path)).equals(modelFiles[path]!), path);
    const [atHub, atStorage] = (['hub', 'storage'] as const).map((host) =>
      hub.requests.filter((request) => request.host === host).map(({ authorization }) => authorization),
    );
    t.same(new Set(atHub), new Set(['Bearer hf_secret']));
    t.same(atStorage, [undefined, undefined], 'another host does not get the token');
  },
);

t.test('an interrupted download continues with the missing part', async (t) => {
  const hub = await FakeHub.start(t);
  const folder = t.testdir();
  writePart(folder, 100_000);
  // How much of it arrives before the connection ends depends on the machine.
  const broken = { endAfter: 100_000 };
  hub.fail(`/${weights}`, broken, { status: 503 }, broken, broken);
  await run(t, { hub, folder });
  t.ok(readFileSync(join(folder, weights)).equals(modelFiles[weights]!));
  const [first, ...later] = hub.rangesOf(weights);
  t.equal(first, 'bytes=100000-', 'with the rest of the file');
  t.ok(later.length >= 3, 'each interruption is repeated');
});

t.test('a later run uses what an earlier one left, and checks it', async (t) => {
  const hub = await FakeHub.start(t);
  const folder = t.testdir();
  await run(t, { hub, folder });
  const count = hub.requests.length;
  await run(t, { hub, folder });
  t.equal(hub.requests.length, count + 1, 'only the list is requested again');
  writeFileSync(join(folder, weights), Buffer.alloc(400_000, 'tampered'));
  writeFileSync(join(folder, 'config.json'), 'longer than the file '.repeat(100));
  await run(t, { hub, folder });
  for (const path of [weights, 'config.json'])
    t.ok(readFileSync(join(folder, path)).equals(modelFiles[path]!), `${path} is downloaded again`);
  writeFileSync(join(folder, weights), modelFiles[weights]!.subarray(0, 7));
  hub.fail(`/${weights}`, { ignoresRange: true });
  await run(t, { hub, folder });
  t.ok(readFileSync(join(folder, weights)).equals(modelFiles[weights]!), 'a hub may ignore the range');
});

t.test('content that differs from the list is discarded', async (t) => {
  const hub = await FakeHub.start(t);
  const tampered = Buffer.from(modelFiles[weights]!);
  tampered[200_000] = 0;
  const short = tampered.subarray(0, 1_000);
  const wrong = [
    [`/${weights}`, { content: tampered }, /model\.onnx\.notes .*was discarded: the SHA-256 of/],
    [`/${weights}`, { content: short }, /was discarded: the hub sends 1000 bytes instead of 400000/],
    ['/config.json', { content: Buffer.from('{}') }, /config\.json .*was discarded: the hub sends 2 bytes/],
    ['/LICENSE', { content: Buffer.from('Apache-1.0') }, /was discarded: the Git hash of LICENSE/],
  ] as const;
  for (const [path, fault, message] of wrong) {
    const folder = t.testdir({});
    hub.fail(path, fault);
    await t.rejects(run(t, { hub, folder }), { code: 'conflict', message });
    t.throws(() => readFileSync(join(folder, path)), { code: 'ENOENT' });
    t.throws(() => readFileSync(`${join(folder, path)}.part`), { code: 'ENOENT' });
  }
});

t.test('a connection that always ends early fails with what remains to be done', async (t) => {
  const hub = await FakeHub.start(t);
  const folder = t.testdir();
  writePart(folder, 50_000);
  hub.fail(`/${weights}`, { endAfter: 50_000 }, ...Array(20).fill({ status: 502 }));
  await t.rejects(run(t, { hub, folder }), {
    code: 'unavailable',
    message:
      /The download failed: .*returned status 502 for onnx\/model\.onnx\.notes\. The downloaded part is kept/,
  });
  hub.fail('/api', ...Array(20).fill({ endAfter: 10 }));
  await t.rejects(run(t, { hub, folder }), { code: 'unavailable', message: /the connection broke/ });
});

t.test('a disk that becomes full ends the download', async (t) => {
  const hub = await FakeHub.start(t);
  const folder = t.testdir();
  symlinkSync('/dev/full', join(folder, 'config.json.part'));
  await t.rejects(run(t, { hub, folder }), {
    code: 'too_large',
    message: /config\.json cannot be written: ENOSPC/,
  });
});

t.test('errors of the hub name the reason and the remedy', async (t) => {
  const hub = await FakeHub.start(t);
  const statuses = [
    ['/api', 401, 'forbidden', /returned status 401 .*HF_TOKEN is missing or wrong/],
    ['/onnx/model.onnx (redirected)', 403, 'forbidden', /returned status 403 .*Accept the license/],
    ['/config.json', 404, 'not_found', /returned status 404 for config\.json/],
    ['/tokenizer.json', 418, 'bad_gateway', /returned status 418/],
  ] as const;
  for (const [path, status, code, message] of statuses) {
    hub.fail(path, { status });
    await t.rejects(run(t, { hub, folder: t.testdir() }), { code, message }, path);
  }
  const busy = { status: 429, headers: { 'retry-after': '0' } };
  hub.fail('/api', busy, busy);
  hub.fail('/config.json', busy);
  await run(t, { hub, folder: t.testdir() });
  hub.fail('/api', busy, busy, busy, busy, busy);
  await t.rejects(run(t, { hub, folder: t.testdir() }), {
    code: 'unavailable',
    message: /returned status 429.*too many requests/,
  });
});

t.test('redirects end, and lead to web addresses only', async (t) => {
  const hub = await FakeHub.start(t);
  const folder = t.testdir();
  const to = (location: string) => ({ status: 302, headers: { location } });
  hub.fail('/config.json', ...Array(9).fill(to(`${hub.url}/config.json`)));
  await t.rejects(run(t, { hub, folder }), { message: /redirects config\.json more than 5 times/ });
  for (const location of ['file:///etc/passwd', 'http://', 'data:,x']) {
    hub.fail('/config.json', to(location));
    await t.rejects(run(t, { hub, folder }), {
      message: /redirects config\.json to an unencrypted or invalid/,
    });
  }
});

t.test('a list with unusable files is rejected before the first download', async (t) => {
  const hub = await FakeHub.start(t);
  const entries = Object.entries(modelFiles).map(([path, content]) => listEntry(path, content));
  const graph = entries.find(({ rfilename }) => rfilename === 'onnx/model.onnx')!;
  const without = (path: string) => entries.filter(({ rfilename }) => rfilename !== path);
  const extra = (rfilename: string) => [...entries, { ...graph, rfilename }];
  const many = (count: number, name: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => ({ ...graph, rfilename: name(i) }));
  const lists: readonly (readonly [unknown, RegExp])[] = [
    [extra('../model.onnx'), /"\.\.\/model\.onnx" is outside of the repository/],
    [extra('onnx/../../x'), /is outside of the repository/],
    [extra('/etc/passwd'), /is outside of the repository/],
    [extra('..\\model.onnx'), /is outside of the repository/],
    [extra('C:model.onnx'), /is outside of the repository/],
    [extra('onnx/model.onnx_\u0007'), /invalid name "onnx\/model\.onnx_\\u0007"/],
    [without('config.json'), /has no config\.json/],
    [without('tokenizer.json'), /has no tokenizer\.json/],
    [entries.filter(({ rfilename }) => !rfilename.endsWith('.onnx')), /has no ONNX model/],
    [[...entries, ...many(80, (i) => `onnx/model.onnx_${i}`)], /needs 85 files .*the limit is 64/],
    [many(20_001, (i) => `file-${i}`), /no valid list of files/],
    [[...without('config.json'), { rfilename: 'config.json' }], /lists no size or no hash of config\.json/],
    [
      [...without('onnx/model.onnx'), { ...graph, lfs: null, size: 2 ** 40 }],
      /has 1099511627776 bytes; the limit/,
    ],
    [[...entries, { rfilename: 'x', size: -1 }], /no valid list of files/],
    ['none', /no valid list of files/],
  ];
  for (const [siblings, message] of lists) {
    hub.list = { siblings };
    await t.rejects(run(t, { hub, folder: t.testdir() }), { message });
  }
  hub.list = { sha: 'main' };
  await t.rejects(run(t, { hub, folder: t.testdir() }), { message: /no valid list of files/ });
  hub.fail('/api', { content: Buffer.from('<html>') });
  await t.rejects(run(t, { hub, folder: t.testdir() }), { message: /no valid list of files/ });
  t.ok(
    hub.requests.every(({ path }) => path === '/api'),
    'no file was requested',
  );
});

t.test('one graph is chosen, or the choices are listed', async (t) => {
  const hub = await FakeHub.start(t);
  const folder = t.testdir();
  const paths = await run(t, { hub, folder, graph: 'onnx/model_other.onnx' });
  t.same(
    paths.filter((path) => path.startsWith('onnx/')),
    ['onnx/model_other.onnx'],
  );
  const missing = run(t, { hub, folder, graph: 'x.onnx' });
  await t.rejects(missing, {
    message: /no graph "x\.onnx"; choose one with --graph: onnx\/model\.onnx, onnx/,
  });
  const { 'onnx/model.onnx': _graph, [weights]: _weights, ...others } = modelFiles;
  hub.files = { ...others, 'onnx/model_q4.onnx': Buffer.from('third') };
  await t.rejects(run(t, { hub, folder }), { message: /several ONNX graphs; choose one with --graph/ });
});

t.test('files that a catalog pins must be the same at the hub', async (t) => {
  const hub = await FakeHub.start(t);
  const pinned = ['config.json', 'tokenizer.json', 'onnx/model.onnx'];
  const toPin = (path: string) => ({
    path,
    bytes: modelFiles[path]!.length,
    sha256: sha256Of(modelFiles[path]!),
  });
  const pins: CatalogModel = {
    name: 'letters',
    kind: 'embedding',
    source: `hf:${repository}`,
    license: null,
    languages: null,
    runs_in: 'server',
    dimensions: null,
    tokens: null,
    bytes: null,
    memory_bytes: null,
    revision: commit,
    graph: null,
    files: pinned.map(toPin),
  };
  const folder = t.testdir();
  t.same(await run(t, { hub, folder, pins }), pinned);
  const graph = pins.files.find(({ path }) => path === 'onnx/model.onnx')!;
  const differing: readonly (readonly [Partial<CatalogModel>, RegExp])[] = [
    [{ revision: 'f'.repeat(40) }, /differs from the catalog: the hub answered with the commit 0123/],
    [{ files: pins.files.slice(1) }, /config\.json is not pinned/],
    [{ files: [...pins.files, { ...graph, path: 'gone.json' }] }, /the hub has no gone\.json/],
    [{ files: [...pins.files.slice(0, 2), { ...graph, sha256: '0'.repeat(64) }] }, /another size or hash/],
  ];
  for (const [change, message] of differing)
    await t.rejects(run(t, { hub, folder, pins: { ...pins, ...change } }), { code: 'conflict', message });
  // The list of the hub has only a Git hash of small files, so the content decides.
  const wrongConfig = { ...toPin('config.json'), sha256: '0'.repeat(64) };
  const files = [wrongConfig, ...pins.files.slice(1)];
  await t.rejects(run(t, { hub, folder: t.testdir(), pins: { ...pins, files } }), {
    message: /config\.json .*was discarded: the SHA-256/,
  });
});
