import type { GetDocumentInfoListRequest } from '../../src/schemas/document-list.ts';
import { readDocumentPage } from '../../src/services/document-list.ts';
import { type DocumentRecord, Documents } from '../../src/storage/documents.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { collection, document } from '../storage/records.ts';
import t from '../support/tap.ts';
import { serviceCallFor } from './service-fixture.ts';

/** Filters, orders and pages of document lists, compared with a simple model. */

const papers = collection({ name: 'papers' });
const { collectionId } = papers;
const statuses = ['indexed', 'parsing', 'parsing_failed', 'indexing_failed'] as const;
const names = ['Report', 'report', 'Übersicht', 'Übersicht'.normalize('NFD'), 'x\uffee', 'x😀', 'notes'];
const endings = ['pdf', 'PDF', 'docx', 'md'];

const days = ['2026-01-02', '2026-01-01T23:00:00-02:00', '2026-01-02T00:30:00+01:00', 'soon'];

const records: readonly DocumentRecord[] = Array.from({ length: 70 }, (_, i) =>
  document({
    collectionId,
    path: `${names[i % 7]}/${String((i * 37) % 70)}.${endings[i % 4]}`,
    status: statuses[i % 4]!,
    createdAt: Date.parse('2026-01-01T00:00:00Z') + (i % 10) * 3_600_000,
    size: (i * 13) % 30,
    numPages: i % 3 === 0 ? null : i % 5,
    metadata: {
      ...(i % 4 === 0 ? {} : { kind: [1, 'a', true, 'b', -2][i % 5]! }),
      ...(i % 6 === 0 ? {} : { date: days[i % days.length]! }),
    },
  }),
);

async function openDocuments(): Promise<Documents> {
  const store = new MemoryStore();
  const documents = new Documents(store);
  for (const record of records) await store.write(documents.put(record, null));
  return documents;
}

type Fields = Omit<GetDocumentInfoListRequest, 'collection_name'>;

const isReadable = ({ size }: DocumentRecord) => size !== 5;

function readPage(documents: Documents, fields: Fields, limit: number) {
  const call = serviceCallFor();
  const access = {
    collection: papers,
    principal: call.principal,
    isVisible: isReadable,
    yieldToEventLoop: call.yieldToEventLoop,
  };
  const restricted = { ...call, principal: { ...call.principal, restriction: {} as never } };
  return readDocumentPage(
    documents,
    { call: restricted, access, limit },
    { collection_name: 'papers', ...fields },
  );
}

/** Paths of all pages, and the number of pages. */
async function listPaths(documents: Documents, fields: Fields, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = await readPage(documents, cursor === null ? fields : { ...fields, cursor }, limit);
    found.push(...page.records.map(({ path }) => path));
    cursor = page.nextCursor;
    if (cursor === null) return found;
  }
}

const byPath = (a: DocumentRecord, b: DocumentRecord) =>
  Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));

function expectedPaths(keyOf: (record: DocumentRecord) => number, sign: number): string[] {
  const sorted = records.filter(isReadable).sort((a, b) => sign * (keyOf(a) - keyOf(b) || byPath(a, b)));
  return sorted.map(({ path }) => path);
}

const sortCases = [
  ['path', () => 0],
  ['size', ({ size }: DocumentRecord) => size],
  ['created_at', ({ createdAt }: DocumentRecord) => createdAt],
  ['num_pages', ({ numPages }: DocumentRecord) => numPages ?? -1],
  [
    'index_status',
    ({ status }: DocumentRecord) =>
      ['parsing', 'indexed', 'parsing_failed', 'indexing_failed'].indexOf(status),
  ],
] as const;

t.test('every order lists each document once, on pages of any size, in both directions', async (t) => {
  const documents = await openDocuments();
  for (const [sort_by, keyOf] of sortCases)
    for (const descending of [false, true])
      for (const limit of [8, 1_024])
        t.same(
          await listPaths(documents, { sort_by, descending }, limit),
          expectedPaths(keyOf, descending ? -1 : 1),
          `${sort_by} ${descending} ${limit}`,
        );
});

t.test('filters select by text, state, extension and time, alone and together', async (t) => {
  const documents = await openDocuments();
  const at = (hour: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + hour * 3_600_000).toISOString();
  const cases: readonly (readonly [Fields, (record: DocumentRecord) => boolean])[] = [
    [{ path_contains: 'REPORT' }, ({ path }) => /report/i.test(path)],
    [{ path_contains: 'übersicht/1' }, ({ path }) => /übersicht\/1/i.test(path.normalize('NFC'))],
    [{ extensions: ['pdf'] }, ({ path }) => /\.pdf$/i.test(path)],
    [{ extensions: ['df'] }, () => false],
    [{ extensions: [] }, () => false],
    [{ index_statuses: ['parsing_failed', 'indexing_failed'] }, ({ status }) => status.endsWith('_failed')],
    [{ index_statuses: ['indexed', 'parsing_failed'] }, ({ status }) => /^indexed|parsing_f/.test(status)],
    [{ index_statuses: [] }, () => false],
    [{ only_failed: true, index_statuses: ['indexed'] }, () => false],
    [
      { created_at_gte: at(2), created_at_lt: at(4) },
      ({ createdAt }) => createdAt >= Date.parse(at(2)) && createdAt < Date.parse(at(4)),
    ],
    [
      { path_contains: 'notes', extensions: ['md', 'docx'], only_failed: true, path_prefix: 'n' },
      ({ path, status }) => /^notes.*(md|docx)$/.test(path) && status.endsWith('_failed'),
    ],
  ];
  for (const [fields, holds] of cases) {
    const expected = [...records]
      .filter(isReadable)
      .filter(holds)
      .sort(byPath)
      .map(({ path }) => path);
    t.same(await listPaths(documents, { ...fields, sort_by: 'path' }, 3), expected, JSON.stringify(fields));
    const page = await readPage(documents, { ...fields, include_count: true, sort_by: 'size' }, 1);
    t.equal(page.matching, expected.length, `${JSON.stringify(fields)} counts only visible documents`);
    const [one] = (await readPage(documents, { ...fields, path_gt: expected[0] ?? null }, 1)).records;
    t.equal(one?.path, expected[1], 'path_gt continues a filtered list');
  }
});

t.test('orders by metadata list each document once, on pages of any size', async (t) => {
  const documents = await openDocuments();
  // Kinds in their ascending order, and dates in that of their instants.
  const ranks = { kind: ['a', 'b', -2, 1, true], date: [days[2], days[0], days[1]] };
  for (const order of ['asc', 'desc'] as const)
    for (const fields of [['kind'], ['date'], ['date', 'kind']] as const) {
      const sort = fields.map((field) => ({
        field,
        order,
        ...(field === 'date' ? { type: 'date' as const } : {}),
      }));
      const keyOf = ({ metadata }: DocumentRecord, field: 'kind' | 'date') => {
        const rank = ranks[field].indexOf(metadata[field] as never);
        if (rank === -1) return Number.POSITIVE_INFINITY;
        return order === 'asc' ? rank : -rank;
      };
      const expected = records
        .filter(isReadable)
        .sort((a, b) => {
          for (const field of fields)
            if (keyOf(a, field) !== keyOf(b, field)) return keyOf(a, field) < keyOf(b, field) ? -1 : 1;
          return byPath(a, b);
        })
        .map(({ path }) => path);
      for (const limit of [1, 8, 1_024])
        t.same(await listPaths(documents, { sort }, limit), expected, `${order} ${fields.join()} ${limit}`);
    }
});

t.test('facets count all visible documents that match, on every page', async (t) => {
  const documents = await openDocuments();
  const facets = ['kind', { date: { ranges: [{ from: { $date: '2026-01-02' } }] } }];
  const visible = records.filter(isReadable).filter(({ path }) => /\.pdf$/i.test(path));
  const count = (kind: unknown) => visible.filter(({ metadata }) => metadata.kind === kind).length;
  const values = ['a', 'b', -2, 1, true]
    .map((value) => ({ value, count: count(value) }))
    .filter((entry) => entry.count > 0)
    .sort((a, b) => b.count - a.count);
  const late = visible.filter(({ metadata }) => metadata.date === days[0] || metadata.date === days[1]);
  const variants: readonly Fields[] = [{}, { sort: [{ field: 'kind' }] }, { path_gt: 'n' }];
  for (const fields of variants) {
    const page = await readPage(documents, { ...fields, facets, path_prefix: '', extensions: ['pdf'] }, 2);
    t.same(page.facets, [
      { field: 'kind', values, num_values: values.length },
      { field: 'date', ranges: [{ from: '2026-01-02', count: late.length }] },
    ]);
  }
  t.equal((await readPage(documents, {}, 2)).facets, null);
});

t.test('a cursor that no reply contained is rejected', async (t) => {
  const documents = await openDocuments();
  for (const cursor of ['', 'x', 'bnVsbA', Buffer.from('["a",1]').toString('base64url')])
    await t.rejects(readPage(documents, { sort_by: 'size', cursor }, 1), { code: 'bad_request' });
  const sort = [{ field: 'date', type: 'date' as const }];
  for (const position of [
    null,
    [],
    [['x'], 'a'],
    [[{ seconds: 1 }], 'a'],
    [[null, null], 'a'],
    [[null], 1],
  ]) {
    const cursor = Buffer.from(JSON.stringify(position)).toString('base64url');
    await t.rejects(
      readPage(documents, { sort, cursor }, 1),
      { code: 'bad_request' },
      JSON.stringify(position),
    );
  }
});
