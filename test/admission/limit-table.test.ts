import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectionLimitTable } from '../../src/admission/connection-limit-table.ts';
import { limitTable } from '../../src/admission/limit-table.ts';
import { renderLimitsPage } from '../../src/admission/limits-page.ts';
import { parseLimitTable } from '../../src/admission/parse-limit-table.ts';
import { queryEffectRows } from '../../src/admission/query-limit-table.ts';
import { sourceEffectRows } from '../../src/admission/source-limit-table.ts';
import { rateLimits } from '../../src/core/rate-limits.ts';
import { projectRoot } from '../../src/core/root.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { defaultParseLimits, processLimits } from '../../src/parsing/limits.ts';
import { operationTestOf } from '../http/operations/operation-tests.ts';
import t from '../support/tap.ts';

const page = join(projectRoot, 'docs', 'reference', 'limits.md');
if (process.env.LIMITS_PAGE === 'write') writeFileSync(page, renderLimitsPage());

const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !/limit-table\.ts$|^parsing\/limits\.ts$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(projectRoot, 'src', path), 'utf8') }));

t.test('the page of the documentation matches the table', async (t) => {
  t.equal(readFileSync(page, 'utf8'), renderLimitsPage(), 'LIMITS_PAGE=write updates the page');
});

t.test('the symbol named in each row enforces the limit', async (t) => {
  for (const { limit, enforcedIn } of [
    ...limitTable,
    ...connectionLimitTable,
    ...parseLimitTable,
    ...sourceEffectRows,
    ...queryEffectRows,
  ]) {
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

const tableSources = readdirSync(join(projectRoot, 'src', 'admission'))
  .filter((name) => /limit-table\.ts$/.test(name))
  .map((name) => readFileSync(join(projectRoot, 'src', 'admission', name), 'utf8'))
  .join('\n');

t.test('every rate limit has a row, and every limiter uses one of them', async (t) => {
  for (const name of Object.keys(rateLimits))
    t.match(tableSources, new RegExp(`rateRow\\('${name}'|rateLimits\\.${name}\\b`), name);
  const windows = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/new SlidingWindowLimiter\(\s*'[^']+',\s*([\w.]+)/g)].map((match) => [path, match[1]]),
  );
  t.ok(windows.length > 10, `${windows.length} limiters`);
  t.same(
    windows.filter(([, name]) => !/^(rateLimits\.\w+|settings\.webhookWindows)$/.test(name ?? '')),
    [],
  );
});

t.test('every limit of traces and certificates has a row', async (t) => {
  const names = sources
    .filter(({ path }) => /^tracing\/|^http\/uws-tls-apps\.ts$/.test(path))
    .flatMap(({ text }) => [...text.matchAll(/\blimits\.(\w+Max)\b/g)].map(([, name]) => name ?? ''));
  t.ok(names.length > 3);
  const closing = 'spanCloseMsMax'; // bounds only the end of the process
  t.same(
    names.filter((name) => name !== closing && !tableSources.includes(`limits.${name}`)),
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

t.test('only the operations that tests name accept larger bodies than others', async (t) => {
  const kinds = new Set<string>();
  for (const route of routes) {
    if (route.kind !== 'json' && route.kind !== 'account') continue;
    const isForAccounts = route.kind === 'account' || route.access === 'administrator';
    const isWebhook = route.kind === 'account' && route.inputSource === 'bytes';
    const usual = isWebhook ? 'webhook' : isForAccounts ? 'account' : 'query';
    t.equal(route.bodyKind, operationTestOf(route.operation).bodyKind ?? usual, route.operation);
    kinds.add(route.bodyKind);
  }
  t.same([...kinds].sort(), ['account', 'document', 'key', 'model', 'query', 'webhook']);
});
