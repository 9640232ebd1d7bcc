import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GitCopies } from '../../src/sources/git/git-copies.ts';
import { GitSource } from '../../src/sources/git/git-source.ts';
import { GitOrigin, gitSkipReason } from '../e2e/git-origin.ts';
import t, { type Test } from '../support/tap.ts';

async function openSource(t: Test, bytesFree = 1_000_000_000) {
  const origin = await GitOrigin.start();
  t.teardown(() => origin.close());
  const folder = mkdtempSync(join(tmpdir(), 'quarry-copy-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const url = new URL(origin.url);
  // No name server knows this name.
  url.hostname = 'git.invalid';
  const resolved: string[] = [];
  const source = new GitSource({
    url,
    branch: null,
    folder: '',
    includesHidden: false,
    urlPrefix: null,
    credentials: null,
    connections: {
      resolve: async (host, port) => {
        resolved.push(`${host}:${port}`);
        return '127.0.0.1';
      },
    },
    copy: await new GitCopies({ folder: join(folder, 'copies'), bytesMax: 1_000_000 }).open('a'),
    bytesFree: () => bytesFree,
  });
  const list = async (signal = new AbortController().signal) => {
    const keys: string[] = [];
    for await (const change of source.listChanges(null, signal))
      if (change.type === 'item') keys.push(change.item.key);
    return keys;
  };
  return { origin, source, list, resolved, url };
}

t.test('Git connects to the checked address only', { skip: gitSkipReason }, async (t) => {
  const { origin, list, resolved, url } = await openSource(t);
  await origin.write('a.txt', 'granite');
  t.same(await list(), ['a.txt'], 'the name is not resolved again');
  t.same(resolved, [url.host]);
  origin.redirect = `http://${origin.host}/elsewhere`;
  await t.rejects(list(), /Git reports: .*(redirect|302)/i);
  origin.redirect = null;
  await origin.rename('a.txt', 'b.txt');
  t.same(await list(), ['b.txt']);
});

t.test('a canceled listing rejects with the reason of its signal', { skip: gitSkipReason }, async (t) => {
  const { list } = await openSource(t);
  const controller = new AbortController();
  const listing = list(controller.signal);
  controller.abort(new Error('stopped'));
  await t.rejects(listing, /stopped/);
});

t.test('a fetch does not start on a full disk', { skip: gitSkipReason }, async (t) => {
  const { list } = await openSource(t, 1_000_000);
  await t.rejects(list(), /no space for the repository/);
});

t.test('the least recently used copies are deleted', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-copies-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'left by an earlier server'));
  const copies = new GitCopies({ folder, bytesMax: 25 });
  const write = async (sourceId: string) => {
    const copy = await copies.open(sourceId);
    await copy.update(async () => {
      mkdirSync(join(copy.folder, 'objects', 'pack'), { recursive: true });
      writeFileSync(join(copy.folder, 'objects', 'pack', 'a.pack'), '10 bytes..');
    });
    return copy;
  };
  const list = () => readdirSync(folder).sort();
  for (const sourceId of ['a', 'b', 'a']) await (await write(sourceId)).release();
  t.same(list(), ['a', 'b']);
  const used = await write('c');
  await (await write('d')).release();
  t.same(list(), ['c', 'd'], 'the copy in use and the last one are kept');
  await used.release();
  await copies.forget('d');
  t.same(list(), ['c']);
  const again = await copies.open('c');
  t.notOk(await again.update(async (isNew) => isNew));
});
