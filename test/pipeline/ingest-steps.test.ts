import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { AnalysedChunk, ChunkTaskResult } from '../../src/chunking/chunk-task.ts';
import { quantise } from '../../src/models/codes.ts';
import { IngestSteps } from '../../src/pipeline/ingest-steps.ts';
import { Contents } from '../../src/store/content.ts';
import type { DocumentRecord } from '../../src/store/documents.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { embed } from '../simulate/process.ts';

const chunkCount = 1_300;

function chunkOf(index: number): AnalysedChunk {
  const text = `passage ${index}`;
  const place = { start: index, end: index + 1, pageStart: 0, pageEnd: 1, prefix: 'title', language: null };
  const child = { start: 0, end: text.length, startCodePoint: index, endCodePoint: index + 1, blank: false };
  return { ...place, text, blank: index % 100 === 7, children: [child] };
}

async function steps(onEmbed: (texts: number) => void) {
  const store = new MemoryStore();
  const documentId = randomUUID();
  const contents = new Contents(store);
  const head = { kind: 'text', contentType: 'text/plain', pageCount: 1, unordered: false, headings: false };
  await store.write([
    contents.putParsedPage(documentId, 0, 'the page'),
    contents.putParsedHead(documentId, { ...head, title: null, language: null, warnings: [] }),
  ]);
  const chunks = Array.from({ length: chunkCount }, (_, i) => chunkOf(i));
  const result = { chunks, pageStarts: [0], length: chunkCount, terms: new Uint8Array(8), tokens: 1 };
  const made = new IngestSteps({
    ...({} as ConstructorParameters<typeof IngestSteps>[0]),
    contents,
    pools: {
      parse: { run: () => Promise.reject(new Error('nothing to parse')) },
      chunk: { run: async <Result>() => result as ChunkTaskResult as Result },
    },
    models: {
      embed: async (texts) => {
        onEmbed(texts.length);
        return embed(texts);
      },
    },
    model: 'letters',
    quantise,
    clock: { now: () => 0, monotonic: () => 0 },
  });
  return { made, chunks, record: { documentId, path: 'a.txt', textBytes: 8 } as DocumentRecord };
}

t.test('a long document is embedded in bounded runs, and every row has its own vector', async (t) => {
  const runs: number[] = [];
  const { made, chunks, record } = await steps((texts) => runs.push(texts));
  const { block, codes } = await made.chunk(record, new AbortController().signal);
  t.ok(Math.max(...runs) <= 2_048 && runs.length > 3, `runs of ${runs}`);
  const rows = chunks.flatMap(({ blank }, i) => (blank ? [] : [i]));
  t.same([...block.chunkOfRow], rows);
  const expected = embed(rows.map((i) => `title\n\n${chunks[i]!.text}`));
  t.same(block.vectors, expected.vectors);
  t.equal(
    codes.filter((code) => code === undefined).length,
    chunkCount - rows.length,
    'blank ones have none',
  );
});

t.test('a document that nobody wants any more is not embedded to its end', async (t) => {
  const controller = new AbortController();
  let runs = 0;
  const { made, record } = await steps(() => {
    runs += 1;
    controller.abort(new Error('overwritten'));
  });
  await t.rejects(made.chunk(record, controller.signal), { message: 'overwritten' });
  t.equal(runs, 1);
});
