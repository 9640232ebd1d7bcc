import { readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CpuProfile } from '../../bench/harness/cpu-profile.ts';
import { resolveSources } from '../../bench/harness/profile-sources.ts';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';

const bundle = 'file:///srv/quarry/dist/chunks/main.js';
/** Line 1 comes from src/auth/authenticate.ts, line 2 from src/search/fuse.ts. */
const map = new SourceMap({
  file: 'main.js',
  version: 3,
  sources: ['../../src/auth/authenticate.ts', '../../src/search/fuse.ts'],
  sourcesContent: [],
  names: [],
  mappings: 'AAAA;ACAA',
  sourceRoot: '',
});

const frame = (url: string, lineNumber: number) => ({
  functionName: 'f',
  url,
  lineNumber,
  columnNumber: 4,
});
const profile = (...frames: ReturnType<typeof frame>[]): CpuProfile => ({
  nodes: frames.map((callFrame, id) => ({ id, callFrame })),
  samples: [],
  timeDeltas: [],
});

t.test('functions of a bundle get the address of their source', async (t) => {
  const resolved = resolveSources(profile(frame(bundle, 0), frame(bundle, 1)), () => map);
  t.strictSame(
    resolved.nodes.map(({ callFrame }) => callFrame.url),
    ['file:///srv/quarry/src/auth/authenticate.ts', 'file:///srv/quarry/src/search/fuse.ts'],
  );
});

t.test('other functions keep their address, and each map is read once', async (t) => {
  const other = 'file:///srv/quarry/node_modules/stemmer/index.js';
  let reads = 0;
  const resolved = resolveSources(profile(frame('node:net', 0), frame(other, 0), frame(other, 1)), () => {
    reads += 1;
    return null;
  });
  t.strictSame(
    resolved.nodes.map(({ callFrame }) => callFrame.url),
    ['node:net', other, other],
  );
  t.equal(reads, 1);
});

t.test('functions of the bundled server are found', async (t) => {
  const folder = join(projectRoot, 'dist', 'chunks');
  const lineOf = (path: string) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .findIndex((line) => line.includes('searchSnippets(request) {'));
  const server = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, name))
    .find((path) => lineOf(path) >= 0);
  t.ok(server, 'a bundle has the method');
  if (server === undefined) return;
  const url = pathToFileURL(server).href;
  const { nodes } = resolveSources(profile(frame(url, lineOf(server))));
  t.match(nodes[0]?.callFrame.url, /\/src\/search\/search\.ts$/);
});
