import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import { currentFormat } from '../../src/storage/migrations.ts';
import { runQuarry } from '../cli/quarry.ts';
import { adminKey, operatorKey, TestServer } from '../e2e/server.ts';
import t from '../support/tap.ts';

/**
 * Data directories of released formats. `FORMAT_FIXTURE=write node dist/test/storage/formats.test.js` writes the one of the
 * current format; do so once, before the first release with it, and never again.
 */

const fixtures = join(projectRoot, 'test', 'storage', 'formats');
const organization = '7d1f0a52-5c0e-4a3c-9f5e-0b8f6c3c9a10';
const herring = { type: 'text', text: 'Salted herring is packed in barrels.' };
const refunds = { type: 'text', text: 'Refunds take five days.' };

async function call(server: TestServer, path: string, body: unknown, key = operatorKey) {
  const reply = await fetch(`${server.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: reply.status, body: (await reply.json()) as Record<string, never> };
}

function addDocument(server: TestServer, path: string, content: object) {
  const request = { collection_name: 'library', path, content, metadata: { year: '1887' }, wait: true };
  return call(server, 'documents/add-document', request);
}

async function search(server: TestServer, query: string): Promise<readonly { path: string }[]> {
  const request = { collection_name: 'library', query, k: 5, filter: { year: { $eq: '1887' } } };
  const { body } = await call(server, 'queries/top-snippets', request);
  return body.results as unknown as { path: string }[];
}

async function writeFixture(folder: string): Promise<void> {
  const server = await TestServer.start(t, { DATA: join(folder, 'data') });
  await call(server, 'collections/add-collection', { collection_name: 'library' });
  await addDocument(server, 'herring.txt', herring);
  await call(server, 'admin/create-organization', { organization_id: organization }, adminKey);
  await server.stop();
  const left = ['cache', 'quarry.pid', 'sign-in-link.txt', 'first-key.txt', 'store/LOCK', 'store/LOG'];
  const excluded = left.map((name) => `--exclude=data/${name}`);
  const archive = join(fixtures, `format-${currentFormat}.tar.gz`);
  execFileSync('tar', ['-C', folder, ...excluded, '-czf', archive, 'data']);
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-format-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

if (process.env.FORMAT_FIXTURE === 'write') await writeFixture(createFolder());

const formatOf = (name: string) => Number(/\d+/.exec(name)?.[0]);
const oldestFormat = Math.min(...readdirSync(fixtures).map(formatOf));

for (const name of readdirSync(fixtures)) {
  // Every migration runs for the oldest format, so its directory has the most mixed state to reopen.
  const isOldest = formatOf(name) === oldestFormat;
  t.test(`${name} is opened, searched and written${isOldest ? ', and reopened' : ''}`, async (t) => {
    const folder = createFolder();
    execFileSync('tar', ['-C', folder, '-xzf', join(fixtures, name)]);
    const data = join(folder, 'data');
    const check = await runQuarry(['upgrade', '--check', '--json', '--data', data]);
    t.match(JSON.parse(check.out), {
      format: formatOf(name),
      formatOfThisVersion: currentFormat,
    });
    const server = await TestServer.start(t, { DATA: data });
    t.match(await search(server, 'barrels'), [{ path: 'herring.txt', content: herring.text }]);
    t.equal((await addDocument(server, 'refunds.txt', refunds)).status, 201);
    if (isOldest) await server.restart();
    t.match(await search(server, 'how long do refunds take'), [{ path: 'refunds.txt' }]);
    t.match(await search(server, 'barrels'), [{ path: 'herring.txt' }]);
    const { body } = await call(
      server,
      'admin/get-organization',
      { organization_id: organization },
      adminKey,
    );
    t.equal(body.organization_id, organization);
  });
}

t.test('a fixture of the current format exists', async (t) => {
  t.ok(readdirSync(fixtures).includes(`format-${currentFormat}.tar.gz`));
});
