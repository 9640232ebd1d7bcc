import { randomUUID } from 'node:crypto';
import type { ChunkTask } from '../../src/chunking/chunk-task.ts';
import { prepareDocument } from '../../src/chunking/prepare-document.ts';
import { BackgroundScheduler } from '../../src/core/async/background-scheduler.ts';
import { systemClock } from '../../src/core/clock.ts';
import { IngestSteps } from '../../src/ingest/ingest-steps.ts';
import { quantize } from '../../src/models/quantization.ts';
import { decodeChunk } from '../../src/storage/chunks.ts';
import { Contents } from '../../src/storage/content.ts';
import type { DocumentRecord } from '../../src/storage/documents.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import {
  chunkProcessorsFor,
  letterEmbedder,
  letterModel,
  letterVectors,
} from '../simulate/server-components.ts';
import t from '../support/tap.ts';

/** Pages of words, a blank page, and a page of characters of two UTF-16 units. */
const pages = [
  'Salted herring keeps well in a cool cellar. '.repeat(4_000),
  ' \n\t ',
  '𝐇𝐞𝐫𝐫𝐢𝐧𝐠 in bold. '.repeat(300),
  '',
];

async function steps(onEmbed: (texts: readonly string[]) => void) {
  const store = new MemoryStore();
  const documentId = randomUUID();
  const contents = new Contents(store);
  const head = { kind: 'text', contentType: 'text/plain', pageCount: 4, unordered: true, headings: false };
  await store.write([
    ...pages.map((page, i) => contents.parsed.putPage(documentId, i, page)),
    contents.parsed.putHead(documentId, { ...head, title: 'title', language: null, warnings: [] }),
  ]);
  const embedder = {
    ...letterEmbedder,
    embed: async (texts: readonly string[]) => {
      onEmbed(texts);
      return letterVectors(texts);
    },
  };
  const ingestSteps = new IngestSteps({
    ...({} as ConstructorParameters<typeof IngestSteps>[0]),
    contents,
    pools: { parse: { run: () => Promise.reject(new Error('nothing to parse')) } },
    chunker: {
      run: async (task: ChunkTask) => ({
        result: await prepareDocument(task, chunkProcessorsFor(embedder)),
        ms: 1,
      }),
    },
    getModel: () => letterModel,
    clock: { now: () => 0, monotonic: () => 0 },
    backgroundScheduler: new BackgroundScheduler(systemClock),
  });
  return { ingestSteps, record: { documentId, path: 'a.txt', textBytes: 8 } as DocumentRecord };
}

t.test('a long document is embedded in bounded runs, and every chunk has its own vectors', async (t) => {
  const runs: number[] = [];
  const { ingestSteps, record } = await steps((texts) => runs.push(texts.length));
  const content = await ingestSteps.chunk(record, new AbortController().signal);
  const { block, codes, layout } = content;
  const chunks = content.chunks.map(decodeChunk);
  t.ok(Math.max(...runs) <= 2_048 && runs.length > 3, `runs of ${runs}`);
  const rows = chunks.flatMap(({ blank }, i) => (blank ? [] : [i]));
  t.ok(rows.length < chunks.length, 'there is a blank chunk');
  t.same([...block.chunkOfRow], rows);
  t.same(block.vectors, letterVectors(rows.map((i) => `${chunks[i]!.prefix}\n\n${chunks[i]!.text}`)).vectors);
  for (const [i, { text, children: spans, blank }] of chunks.entries()) {
    const children = spans.map(({ start, end }) => text.slice(start, end));
    t.equal(children.join(''), text, `precise chunks tile chunk ${i}`);
    t.same(
      codes[i],
      blank ? undefined : quantize(letterVectors(children).vectors, block.dimensions),
      `codes of ${i}`,
    );
  }
  t.same(
    [...layout.pageLengths],
    pages.map((page) => Array.from(page).length),
  );
  t.equal(layout.length, Array.from(pages.join('\n\n')).length);
});

t.test('embedding of an abandoned document stops', async (t) => {
  const controller = new AbortController();
  let runs = 0;
  const { ingestSteps, record } = await steps(() => {
    runs += 1;
    controller.abort(new Error('overwritten'));
  });
  await t.rejects(ingestSteps.chunk(record, controller.signal), { message: 'overwritten' });
  t.equal(runs, 2, 'one run for the chunks of a group, and one for their parts');
});
