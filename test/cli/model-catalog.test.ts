import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CatalogModel, catalog } from '../../src/cli/hub/catalog.ts';
import { isSafePath } from '../../src/cli/hub/file-names.ts';
import t, { type Test } from '../support/tap.ts';
import { runQuarry } from './quarry.ts';

const search = (...words: string[]) => runQuarry(['models', 'search', ...words]);

const pinned: CatalogModel = {
  name: 'small-english',
  kind: 'embedding',
  source: 'hf:organization/name',
  license: 'MIT',
  languages: ['en'],
  runs_in: 'server',
  dimensions: 384,
  tokens: 512,
  bytes: 34_000_000,
  memory_bytes: null,
  revision: '0'.repeat(40),
  graph: null,
  files: [{ path: 'config.json', bytes: 743, sha256: 'a'.repeat(64) }],
};

function writeCatalog(t: Test, content: unknown): string {
  const path = join(t.testdir(), 'models.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

t.test('the catalog lists the models of the hosted service and invents no value', async (t) => {
  const { code, out } = await search('--json');
  t.equal(code, 0);
  const { models } = JSON.parse(out) as { models: CatalogModel[] };
  t.same(models, catalog);
  t.same(
    models.map(({ name }) => name),
    ['zembed-1', 'zerank-2', 'zerank-1', 'zerank-1-small'],
  );
  for (const { revision, files } of models) t.ok((revision === null) === (files.length === 0));
  const table = (await search()).out;
  t.match(
    table,
    /zembed-1 +embedding +service +2560 +16384 +unknown +Apache-2\.0 +unknown +unknown +not pinned +not pinned +hf:zero/,
  );
});

t.test('words narrow the list, and a list without models is an error', async (t) => {
  const { models } = JSON.parse((await search('RERANKER', 'small', '--json')).out);
  t.match(models, [{ name: 'zerank-1-small' }]);
  t.match(await search('basalt'), { code: 1, err: /No model of the catalog matches/ });
});

t.test('a catalog of the user precedes that of Quarry', async (t) => {
  const path = writeCatalog(t, [pinned]);
  const { models } = JSON.parse((await search('--catalog', path, '--json')).out);
  t.same(models, [pinned, ...catalog]);
  const { out } = await search('small-english', '--catalog', path);
  t.match(
    out,
    /small-english +embedding +server +384 +512 +en +MIT +34\.0 MB +unknown +000000000000 +SHA-256 of 1 files/,
  );
});

t.test('an unusable catalog is rejected with the reason', async (t) => {
  const files = (path: string) => [{ ...pinned.files[0], path }];
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    ['{', /is not a valid catalog: .*JSON/],
    [{}, /is not a valid catalog: models/],
    [[{ ...pinned, name: '../x' }], /is not a valid catalog: models\.0\.name/],
    [[{ ...pinned, source: 'https://example.com' }], /models\.0\.source/],
    [[{ ...pinned, size: 1 }], /is not a valid catalog/],
    [[{ ...pinned, revision: null }], /small-english has files but no revision/],
    [[{ ...pinned, revision: 'main' }], /models\.0\.revision/],
    [[{ ...pinned, files: files('../config.json') }], /has the invalid path "\.\.\/config\.json"/],
    [[{ ...pinned, graph: '/etc/passwd' }], /has the invalid path "\/etc\/passwd"/],
  ];
  for (const [content, message] of wrong)
    t.match(await search('--catalog', writeCatalog(t, content)), { code: 2, err: message });
  t.match(await search('--catalog', join(t.testdir(), 'none.json')), { code: 1, err: /cannot be read/ });
});

t.test('paths that leave their folder are unsafe', async (t) => {
  for (const path of [
    'config.json',
    'onnx/model_int8.onnx',
    '1_Pooling/config.json',
    'a b/c+d-e.bin',
    '.gitattributes',
  ])
    t.ok(isSafePath(path), path);
  const unsafe = [
    '',
    '/a',
    'a/',
    'a//b',
    '..',
    'a/../b',
    './a',
    'a\\b',
    'C:\\a',
    'c:a',
    'a\0b',
    'a\nb',
    '~/a',
    '-x',
    `${'a'.repeat(101)}`,
  ];
  for (const path of unsafe) t.notOk(isSafePath(path), JSON.stringify(path));
});
