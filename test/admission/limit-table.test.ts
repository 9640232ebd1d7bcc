import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bodyKindFor } from '../../src/admission/body-limits.ts';
import { limitTable } from '../../src/admission/limit-table.ts';
import { renderLimitsPage } from '../../src/admission/limits-page.ts';
import { parseLimitTable } from '../../src/admission/parse-limit-table.ts';
import { projectRoot } from '../../src/core/root.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { defaultParseLimits, processLimits } from '../../src/parsing/limits.ts';

const page = join(projectRoot, 'docs', 'reference', 'limits.md');
if (process.env.LIMITS_PAGE === 'write') writeFileSync(page, renderLimitsPage());

const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !/limit-table\.ts$|^parsing\/limits\.ts$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(projectRoot, 'src', path), 'utf8') }));

t.test('the page of the documentation matches the table', async (t) => {
  t.equal(readFileSync(page, 'utf8'), renderLimitsPage(), 'LIMITS_PAGE=write updates the page');
});

t.test('the symbol named in each row enforces the limit', async (t) => {
  for (const { limit, enforcedIn } of [...limitTable, ...parseLimitTable]) {
    const [file = '', name = ''] = enforcedIn.split(' ');
    const source = sources.find(({ path }) => path === file);
    t.ok(source !== undefined && new RegExp(`\\b${name}\\b`).test(source.text), `${limit}: ${enforcedIn}`);
  }
});

t.test('every limit that a reply names in a header has a row', async (t) => {
  const named = sources.flatMap(({ text }) =>
    [...text.matchAll(/'x-quarry-limit': '([a-z-]+)'/g)].map(([, name]) => name),
  );
  const known = new Set(limitTable.map(({ header }) => header));
  t.ok(named.length > 3);
  t.same(
    named.filter((name) => !known.has(name ?? null)),
    [],
  );
});

/** Bounds of the process that no document can exceed: when it is replaced, and how often it reports. */
const unpublishedProcessLimits = [
  ...['recycleResidentBytes', 'ocrRecycleResidentBytes', 'recycleDocuments', 'standbyMs', 'startMsMax'],
  ...['stderrUnitsMax', 'ocrIdleMs', 'progressMsMin', 'watchdogMs'],
];

t.test('every limit of parsing and OCR has a row', async (t) => {
  const bounds = [...Object.keys(defaultParseLimits), ...Object.keys(processLimits)];
  t.same(
    [...parseLimitTable.flatMap(({ bound }) => bound), ...unpublishedProcessLimits].sort(),
    bounds.sort(),
  );
});

t.test('only operations that add documents accept large bodies', async (t) => {
  const operations = routes.map(({ operation }) => operation);
  const ofKind = (kind: string) =>
    operations.filter((operation) => bodyKindFor(operation, 'retrieval') === kind).sort();
  t.same(ofKind('document'), ['add-document', 'add-documents', 'parse-document']);
  t.same(ofKind('model'), [
    ...['cohere-embed', 'cohere-rerank', 'cohere-rerank-v2'],
    ...['embed', 'embeddings', 'rerank'],
  ]);
  t.same(ofKind('key').length, 4, 'every operation of the table exists');
});
