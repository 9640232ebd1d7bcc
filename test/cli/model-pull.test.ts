import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { packTar, type TarEntry, unpackTar } from 'modern-tar';
import { firstCertificate } from '../http/certificate-pairs.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { commit, FakeHub, modelFiles, repository, sha256Of } from './fake-hub.ts';
import { runQuarry } from './quarry.ts';

/** `quarry models pull`, and bundles for machines without internet. */

t.setTimeout(testFileMsMax);

const source = `hf:${repository}`;
const pinnedSource = `${source}@${commit}`;

/** Returns functions that run commands with a new data directory and a hub. */
function setUp(t: Test, hub: FakeHub, more: Readonly<Record<string, string>> = {}) {
  const folder = t.testdir();
  const variables = {
    QUARRY_DATA: join(folder, 'data'),
    HF_ENDPOINT: hub.url,
    HF_TOKEN: 'hf_secret',
    NO_PROXY: '',
    ...more,
  };
  const models = join(folder, 'data', 'models');
  return {
    folder,
    models,
    pull: (...words: string[]) => runQuarry(['models', 'pull', ...words], { variables }),
    run: (...words: string[]) =>
      runQuarry(['models', ...words], { variables: { QUARRY_DATA: variables.QUARRY_DATA } }),
    downloads: () => (existsSync(join(models, '.downloads')) ? readdirSync(join(models, '.downloads')) : []),
  };
}

t.test('a redirect from https to http is refused before the other host gets a request', async (t) => {
  const isTls = { hub: firstCertificate, storage: firstCertificate };
  for (const certificates of [{ hub: firstCertificate }, isTls]) {
    const hub = await FakeHub.start(t, certificates);
    t.match(hub.url, /^https:/);
    const { pull, folder, downloads } = setUp(t, hub, {
      NODE_EXTRA_CA_CERTS: join(t.testdirName, 'hub.pem'),
    });
    writeFileSync(join(folder, 'hub.pem'), firstCertificate.certificate);
    const pulled = await pull(pinnedSource, '--yes');
    const storageRequests = hub.requests.filter(({ host }) => host === 'storage');
    if (certificates === isTls) {
      t.match(pulled, { code: 0, err: /Downloaded and verified 5 files\./ }, 'https to https');
      t.not(storageRequests.length, 0);
      continue;
    }
    t.match(pulled, { code: 1, err: /redirects onnx\/model\.onnx to an unencrypted or invalid address/ });
    t.same(storageRequests, [], 'no request, so no part of the file and no token, leaves unencrypted');
    t.same(downloads().length, 1, 'the verified files are kept');
  }
});

t.test('a model is shown, downloaded, tested and added', async (t) => {
  const hub = await FakeHub.start(t);
  const { pull, run, models, downloads } = setUp(t, hub);
  const asked = await pull(source);
  t.match(asked, { code: 2, err: /cannot ask for confirmation without a terminal; use --yes/ });
  t.match(asked.out, /^host +127\.0\.0\.1:\d+, with HF_TOKEN\nmodel +organization\/letters\n/);
  t.match(asked.out, new RegExp(`commit +${commit}, now the end of main; append @commit to pin it`));
  t.match(asked.out, /license +apache-2\.0\ndownload +5 files, \d+ kB \(\d+ bytes\)\n +LICENSE \(10 B\)\n/);
  t.match(asked.out, /hashes +as listed by the host/);
  t.same(
    hub.requests.map(({ path }) => path),
    ['/api'],
    'nothing is downloaded before the answer',
  );
  t.notOk(existsSync(models));
  const pulled = await pull(pinnedSource, '--yes');
  t.match(pulled, {
    code: 0,
    out: /Added the embedding model letters: 6 dimensions, pooling mean, 32 tokens\.\n.*QUARRY_EMBEDDING_MODEL=letters/,
    err: /Downloaded and verified 5 files\./,
  });
  t.notMatch(pulled.out, /append @commit/);
  t.same(downloads(), [], 'the download is removed');
  const manifest = JSON.parse(readFileSync(join(models, 'letters', 'quarry.json'), 'utf8'));
  t.match(manifest, { id: 'letters', source: pinnedSource, graph: 'onnx/model.onnx' });
  t.match(await run('test', 'letters', '--query', 'gull', 'gull'), { code: 0, out: /1\.0000 +gull/ });
  const count = hub.requests.length;
  t.match(await pull(source, '--yes'), { code: 1, err: /A model named letters already exists/ });
  t.equal(hub.requests.length, count, 'a taken name is rejected before the first request');
  const other = await pull(source, '--yes', '--name', 'short', '--dimensions', '3', '--json');
  t.match(JSON.parse(other.out), { id: 'short', dimensions: 3, source: pinnedSource });
});

t.test('an interrupted pull continues, and a model that cannot run is not added', async (t) => {
  const hub = await FakeHub.start(t);
  const { pull, models, downloads } = setUp(t, hub);
  const started = join(models, '.downloads', `organization--letters@${commit}`, 'onnx');
  mkdirSync(started, { recursive: true });
  const path = 'onnx/model.onnx.notes';
  writeFileSync(join(started, 'model.onnx.notes.part'), modelFiles[path]!.subarray(0, 60_000));
  hub.fail(`/${path}`, { endAfter: 60_000 }, { status: 403 });
  t.match(await pull(source, '--yes'), {
    code: 1,
    err: /403.*The downloaded part is kept: run the command again/,
  });
  t.same(downloads(), [`organization--letters@${commit}`]);
  const continued = await pull(source, '--yes');
  t.match(continued, { code: 0, out: /of them downloaded earlier/ });
  t.equal(hub.rangesOf('onnx/model.onnx').length, 1, 'the finished file is not requested again');
  hub.files = { ...modelFiles, 'onnx/model.onnx': Buffer.from('no graph') };
  t.match(await pull(source, '--yes', '--name', 'broken'), { code: 2, err: /onnx\/model\.onnx cannot be/ });
  t.same(
    readdirSync(models).filter((name) => !name.startsWith('.')),
    ['letters'],
  );
});

t.test('wrong names, catalogs and settings are rejected with the remedy', async (t) => {
  const hub = await FakeHub.start(t);
  const { pull, folder } = setUp(t, hub);
  const wrong = [
    ['hf:letters', 2, /expected hf:organization\/name/],
    ['hf:../letters', 2, /expected hf:organization\/name/],
    ['basalt', 1, /No model of the catalog is named "basalt"\. Models: zembed-1/],
    ['zerank-2', 2, /zerank-2 does not run in the server.*QUARRY_RERANK_URL/],
    [`${source}@none`, 1, /returned status 404 .*revision none/],
    ['hf:organization/other', 1, /returned status 404 for the repository organization\/other/],
  ] as const;
  for (const [model, code, err] of wrong) t.match(await pull(model, '--yes'), { code, err }, model);
  t.match(await setUp(t, hub, { QUARRY_EGRESS: 'none' }).pull(source, '--yes'), {
    code: 1,
    err: /QUARRY_EGRESS is "none".*--to/,
  });
  t.match(await setUp(t, hub, { HF_ENDPOINT: 'hub' }).pull(source, '--yes'), {
    code: 2,
    err: /HF_ENDPOINT.* is not a valid URL/,
  });
  t.match(await setUp(t, hub, { HF_ENDPOINT: 'http://127.0.0.1:9' }).pull(source, '--yes'), {
    code: 3,
    err: /127\.0\.0\.1:9 does not respond/,
  });
  t.match(await pull(source, '--yes', '--to', folder), { code: 1, err: /already exists/ });
});

t.test('a full disk ends the download with the reason', async (t) => {
  const hub = await FakeHub.start(t);
  const huge = { sha256: 'a'.repeat(64), size: 8 * 2 ** 30 - 1 };
  const { pull, downloads } = setUp(t, hub);
  const siblings = [
    'config.json',
    'tokenizer.json',
    ...Array.from({ length: 60 }, (_, i) => `model.onnx_${i}`),
  ];
  hub.list = { siblings: [...siblings, 'model.onnx'].map((rfilename) => ({ rfilename, lfs: huge })) };
  t.match(await pull(source, '--yes'), {
    code: 1,
    err: /free, but 1\.1 TB are needed\. Free disk space first/,
  });
  t.ok(hub.requests.every(({ path }) => path === '/api'));
  t.same(downloads().length, 1);
});

t.test('a proxy is used, except for the hosts of NO_PROXY', async (t) => {
  const hub = await FakeHub.start(t);
  const targets: string[] = [];
  const proxy = createServer();
  proxy.on('connect', (request, client) => {
    targets.push(request.url ?? '');
    const { hostname, port } = new URL(`http://${request.url}`);
    const upstream = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => proxy.close());
  const HTTP_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  t.match(await setUp(t, hub, { HTTP_PROXY, NO_PROXY: '127.0.0.1' }).pull(source, '--yes'), { code: 0 });
  t.same(targets, []);
  t.match(await setUp(t, hub, { HTTP_PROXY }).pull(source, '--yes'), { code: 0 });
  t.ok(targets.includes(new URL(hub.url).host), 'the hub is reached through the proxy');
});

t.test('a bundle carries a model to a machine without internet', async (t) => {
  const hub = await FakeHub.start(t);
  const { pull, run, folder, models } = setUp(t, hub);
  const bundle = join(folder, 'letters.tar');
  const written = await pull(source, '--yes', '--to', bundle);
  t.match(written, { code: 0, out: /Wrote .*letters\.tar\. Add it with `quarry models add`/ });
  t.notOk(existsSync(models), 'nothing is added here');
  t.same(readdirSync(folder), ['letters.tar'], 'the download is removed');
  const again = join(folder, 'again.tar');
  t.match(JSON.parse((await pull(source, '--yes', '--to', again, '--json')).out), {
    format: 1,
    name: 'letters',
    source: pinnedSource,
    license: 'apache-2.0',
    files: [{ path: 'LICENSE', bytes: 10, sha256: sha256Of(modelFiles.LICENSE!) }],
  });
  t.ok(readFileSync(again).equals(readFileSync(bundle)), 'the same model gives the same bytes');
  const count = hub.requests.length;
  t.match(await run('add', bundle), { code: 0, out: /Added the embedding model letters: 6 dimensions/ });
  t.match(await run('add', bundle, '--name', 'two', '--dimensions', '2'), {
    code: 0,
    out: /two: 2 dimensions/,
  });
  t.equal(hub.requests.length, count, 'adding it needs no hub');
  t.match(JSON.parse((await run('list', '--json')).out), {
    models: [{ source: pinnedSource }, { id: 'two' }],
  });
  t.same(
    readdirSync(models).filter((name) => name.startsWith('.')),
    [],
    'the extracted files are removed',
  );
});

type BundleChange = (entries: TarEntry[]) => readonly TarEntry[];

/** Replaces a text of the manifest. */
function inManifest(from: string, to: string): BundleChange {
  return (entries) => {
    const text = Buffer.from(entries[0]!.body as Uint8Array).toString();
    const body = Buffer.from(text.replaceAll(from, to));
    return [{ header: { ...entries[0]!.header, size: body.length }, body }, ...entries.slice(1)];
  };
}

/** Replaces fields of the header of a file. */
function inHeader(name: string, header: Partial<TarEntry['header']>): BundleChange {
  return (entries) =>
    entries.map((entry) => {
      if (entry.header.name !== name) return entry;
      const changed = { ...entry.header, ...header };
      return changed.size === 0 ? { header: changed } : { ...entry, header: changed };
    });
}

const link = { type: 'symlink', linkname: '/etc/passwd', size: 0 } as const;

/** Bundles with correct tar headers but wrong content, and the error. */
const changedBundles: readonly (readonly [BundleChange, RegExp])[] = [
  [([, ...files]) => files, /does not start with quarry-bundle\.json/],
  [(entries) => entries.slice(0, -1), /onnx\/model\.onnx\.notes is missing/],
  [(entries) => [...entries, entries[1]!], /"LICENSE" is not a file of the manifest/],
  [inHeader('config.json', { name: '../../escaped' }), /"\.\.\/\.\.\/escaped" is not a file of the manifest/],
  [inHeader('LICENSE', link), /"LICENSE" is not a file of the manifest/],
  [inManifest('"LICENSE"', '"../LICENSE"'), /invalid path "\.\.\/LICENSE"/],
  [inManifest('"bytes": 10,', '"bytes": 11,'), /LICENSE has 10 bytes instead of 11/],
  [inManifest('"bytes": 10,', '"bytes": 9e15,'), /but 9000 TB are needed/],
  [inManifest('"format": 1', '"format": 2'), /manifest\.format/],
];

/** Bundles with damaged bytes. */
const damagedBundles: readonly (readonly [(bundle: Buffer) => Uint8Array, RegExp])[] = [
  [() => Buffer.from('no tar file'), /is not a valid model bundle/],
  [() => new Uint8Array(0), /is not a valid model bundle: .*truncated/],
  [() => new Uint8Array(1_024), /does not start with quarry-bundle\.json/],
  [(bundle) => bundle.subarray(0, 250_000), /is not a valid model bundle/],
  [(bundle) => bundle.subarray(0, 512), /is not a valid model bundle/],
  [
    (bundle) => {
      const tampered = Buffer.from(bundle);
      tampered[bundle.indexOf('The tide turns.') + 5_000] = 0;
      return tampered;
    },
    /the SHA-256 of onnx\/model\.onnx\.notes differs from the manifest/,
  ],
];

t.test('a bundle that is damaged or was changed is rejected', async (t) => {
  const hub = await FakeHub.start(t);
  const { pull, run, folder, models } = setUp(t, hub);
  const bundle = join(folder, 'letters.tar');
  await pull(source, '--yes', '--to', bundle);
  const original = readFileSync(bundle);
  const target = join(folder, 'changed.tar');
  const check = async (content: Uint8Array, message: RegExp) => {
    writeFileSync(target, content);
    const { code, err } = await run('add', target);
    t.match(err, message);
    t.ok(code === 1 || code === 2, `exit code ${code}`);
  };
  for (const [damage, message] of damagedBundles) await check(damage(original), message);
  for (const [change, message] of changedBundles) {
    const entries = (await unpackTar(original)).map(({ header, data }) => ({ header, body: data }));
    await check(await packTar(change(entries)), message);
  }
  t.same(readdirSync(models), [], 'nothing is left');
  t.notOk(existsSync(join(folder, 'escaped')));
});
