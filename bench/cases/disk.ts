import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { addPortion, waitUntilIdle } from '../harness/collections.ts';
import { type BytesByKind, entryBytes, fileBytes } from '../harness/disk-usage.ts';
import { type QuarryServer, randomKey, startQuarryServer } from '../harness/quarry-server.ts';
import { type CorpusSource, openCorpus, type TextCorpus } from '../harness/text-corpus.ts';
import type { BenchFindings, ReportTable } from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import { listUnmetConditions, targetTable } from '../report/performance-targets.ts';

const target = { bytesPerTextByte: 3.5, textBytes: 7_000_000 };
const collection = 'disk';
const portionDocuments = 256;

const compressions = ['none', 'zstd'] as const;
type Compression = (typeof compressions)[number];

interface DiskUsage {
  readonly textBytes: number;
  /** Files after the server has added the documents and stopped. */
  readonly stopped: BytesByKind;
  /** Files after a second start and stop: the store has turned its log into tables. */
  readonly restarted: BytesByKind;
  /** Keys and values of the live entries of the store. */
  readonly entries: BytesByKind;
}

type Usages = Readonly<Record<Compression, DiskUsage>>;

/** Counts the bytes on disk that a text takes. */
export const diskCase: BenchCase = {
  name: 'disk',
  summary: 'bytes on disk per byte of text, by kind',
  presets: {
    smoke: '--documents 40 --words 60',
    usual: '--documents 2000 --words 600',
    full: '--documents 10000 --words 600',
  },
  async run(runContext) {
    const { corpus, source, context } = await openCorpus(runContext);
    const folder = await mkdtemp(join(tmpdir(), 'quarry-bench-disk-'));
    try {
      const usageWith = (compression: Compression) =>
        measure({ folder: join(folder, compression), compression }, corpus, context);
      const usages = { none: await usageWith('none'), zstd: await usageWith('zstd') };
      return findingsOf(usages, corpus.documents, source);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function measure(
  { folder, compression }: { readonly folder: string; readonly compression: Compression },
  corpus: TextCorpus,
  context: BenchContext,
): Promise<DiskUsage> {
  const data = { folder, key: randomKey() };
  const settings = { QUARRY_STORE_COMPRESSION: compression };
  const start = () => startQuarryServer({ http: context.options.http, data, settings });
  const textBytes = await fill(await start(), corpus, context);
  const stopped = await fileBytes(folder);
  const server = await start();
  try {
    await waitUntilIdle(server.pid, context);
  } finally {
    await server.stop();
  }
  const restarted = await fileBytes(folder);
  return { textBytes, stopped, restarted, entries: await entryBytes(folder) };
}

/** Adds all documents and stops the server. Returns the bytes of their texts. */
async function fill(server: QuarryServer, corpus: TextCorpus, context: BenchContext): Promise<number> {
  const { progress, signal } = context;
  try {
    await server.api.call('collections/add-collection', { collection_name: collection, num_shards: 1 });
    let textBytes = 0;
    for (let first = 0; first < corpus.documents; first += portionDocuments) {
      signal.throwIfAborted();
      progress.update('adding documents', first, corpus.documents, `of ${corpus.documents}`);
      const count = Math.min(portionDocuments, corpus.documents - first);
      textBytes += (await addPortion(server, collection, corpus, { first, count })).textBytes;
    }
    await waitUntilIdle(server.pid, context);
    return textBytes;
  } finally {
    await server.stop();
  }
}

function total(bytes: BytesByKind): number {
  return [...bytes.values()].reduce((sum, count) => sum + count, 0);
}

function findingsOf(usages: Usages, documents: number, source: CorpusSource): BenchFindings {
  const { textBytes, stopped, restarted, entries } = usages.none;
  const perTextByte = (compression: Compression) => total(usages[compression].restarted) / textBytes;
  const targets = [
    {
      metric: 'bytes on disk per byte of text',
      reached: perTextByte('none'),
      most: target.bytesPerTextByte,
      unmetConditions: listUnmetConditions([
        ['real text', source.name !== 'generated'],
        [`at least ${formatNumber(target.textBytes / 1e6, 0)} MB of text`, textBytes >= target.textBytes],
      ]),
    },
  ];
  return {
    title: 'Disk space of texts',
    method: [
      source.description,
      `${formatNumber(documents, 0)} documents with ${formatNumber(textBytes / 1e6, 2)} MB of text are added to a collection of one shard. When the server is idle, it is stopped, started and stopped again.`,
      'Sizes of files are counted, not the blocks of the file system that they occupy. The store turns its log into tables when it is opened, so its size is counted after the second start. `zstd`: the same with `QUARRY_STORE_COMPRESSION=zstd`.',
    ],
    tables: [
      targetTable(targets, 2),
      byKind('Files', textBytes, { stopped, zstd: usages.zstd.restarted, 'started again': restarted }),
      byKind('Live entries of the store, keys and values, uncompressed', textBytes, { entries }),
    ],
    charts: [],
    notes: ['The log of the store holds at most the writes that its memory table holds: 64 MB.'],
    figures: compressions.map((compression) => ({
      name: `disk: bytes per byte of text, compression ${compression}`,
      unit: '',
      better: 'less',
      values: [perTextByte(compression)],
    })),
    measured: Object.fromEntries(
      Object.entries({ stopped, restarted, zstd: usages.zstd.restarted, entries }).map(([name, bytes]) => [
        name,
        Object.fromEntries(bytes),
      ]),
    ),
  };
}

/** Kinds in descending order of the last column, and their sum. */
function byKind(
  title: string,
  textBytes: number,
  measured: Readonly<Record<string, BytesByKind>>,
): ReportTable {
  const names = Object.keys(measured);
  const bytesOf = (name: string, kind: string) => measured[name]!.get(kind) ?? 0;
  const kinds = [...new Set(Object.values(measured).flatMap((bytes) => [...bytes.keys()]))];
  const last = names.at(-1)!;
  kinds.sort((a, b) => bytesOf(last, b) - bytesOf(last, a));
  const row = (kind: string, bytes: (name: string) => number) => ({
    kind,
    ...Object.fromEntries(names.map((name) => [name, bytes(name)])),
    share: bytes(last) / textBytes,
  });
  return {
    title,
    columns: [
      { key: 'kind', heading: 'kind', unit: null, digits: 0 },
      ...names.map((name) => ({ key: name, heading: name, unit: 'bytes', digits: 0 })),
      { key: 'share', heading: 'per byte of text', unit: null, digits: 3 },
    ],
    rows: [
      ...kinds.map((kind) => row(kind, (name) => bytesOf(name, kind))),
      row('total', (name) => total(measured[name]!)),
    ],
  };
}
