/** Synthetic documents for the tests of the engine, derived from a seed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CollectionIndex, type IndexQuery, type StagedDocument } from '../../src/index/collection-index.ts';

/** Temporary folder and a function that removes it. */
export function createTemporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'quarry-engine-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Pseudorandom numbers in [0, 1), reproducible from the seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function randomNormal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function toUnitVector(vector: number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (value) => value / length);
}

/** Unit vectors around random centers, similar to embeddings. */
export function randomClusters(dimensions: number, clusters: number, random: () => number) {
  const centers = Array.from({ length: clusters }, () =>
    toUnitVector(Array.from({ length: dimensions }, () => randomNormal(random))),
  );
  const spread = 0.7 / Math.sqrt(dimensions);
  return (cluster: number = Math.floor(random() * clusters)): Float32Array => {
    const center = centers[cluster] ?? new Float32Array(dimensions);
    return toUnitVector(Array.from(center, (value) => value + spread * randomNormal(random)));
  };
}

/** Terms of one row: [hash, occurrences in the text, occurrences in the prefix]. */
export type RowTerms = readonly (readonly [hash: bigint, body: number, prefix: number])[];

/** Packed bytes of a term block. */
export function termBlock(rows: readonly RowTerms[]): Uint8Array {
  const entries = rows.reduce((sum, row) => sum + row.length, 0);
  let offset = Math.ceil((8 + 4 * rows.length) / 8) * 8;
  const bytes = Buffer.alloc(offset + 16 * entries);
  bytes.writeUInt32LE(0x31425451, 0);
  bytes.writeUInt32LE(rows.length, 4);
  rows.forEach((row, index) => {
    bytes.writeUInt32LE(row.length, 8 + 4 * index);
    for (const [hash, body, prefix] of [...row].sort((left, right) => (left[0] < right[0] ? -1 : 1))) {
      bytes.writeBigUInt64LE(hash, offset);
      bytes.writeUInt16LE(body, offset + 8);
      bytes.writeUInt16LE(prefix, offset + 10);
      offset += 16;
    }
  });
  return bytes;
}

/** Document with the given rows; without terms, every row contains the term 1 once. */
export function makeDocument(
  location: { shard: number; version: number },
  rows: readonly Float32Array[],
  attributes: StagedDocument['attributes'] = {},
  terms: readonly RowTerms[] = rows.map(() => [[1n, 1, 0]]),
): StagedDocument {
  const dimensions = rows[0]?.length ?? 0;
  const vectors = new Float32Array(rows.length * dimensions);
  rows.forEach((row, index) => {
    vectors.set(row, index * dimensions);
  });
  return { ...location, vectors, terms: termBlock(terms), attributes };
}

/** Query with a deadline longer than any test. */
export function indexQuery(parts: Partial<IndexQuery>): IndexQuery {
  return {
    vector: null,
    terms: [],
    filter: null,
    vectorCandidates: 10,
    lexicalCandidates: 10,
    deadlineMs: 60_000,
    ...parts,
  };
}

/** Hits as [version, chunk, similarity, lexical], ordered by version and chunk. */
export async function hitsOf(index: CollectionIndex, parts: Partial<IndexQuery>) {
  const hits = await index.search(indexQuery(parts));
  return Array.from(hits.version, (version, i) => ({
    version,
    chunk: hits.chunk[i] ?? -1,
    similarity: hits.similarity[i] ?? Number.NaN,
    lexical: hits.lexical[i] ?? Number.NaN,
  })).sort((left, right) => left.version - right.version || left.chunk - right.chunk);
}

export async function openIndex(
  directory: string,
  options: { dimensions?: number; shards?: number; collectionId?: string } = {},
): Promise<CollectionIndex> {
  return CollectionIndex.open({
    collectionId: directory,
    dimensions: 8,
    shards: 1,
    directory: join(directory, 'index'),
    ...options,
  });
}
