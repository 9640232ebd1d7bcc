import { assert } from '../../src/core/assert.ts';
import { getCodeBytes } from '../../src/models/quantization.ts';
import { fuse, type Weights } from '../../src/search/fuse.ts';
import type { Language } from '../../src/text/languages.ts';
import { findMatchedWords, type LexicalQuery } from '../../src/text/query.ts';

/** Scoring of fine chunks from their text in TypeScript: native/text must produce equal scores. */

/** A coarse chunk. */
export interface ReferenceParent {
  readonly text: string;
  readonly language: Language | null;
  readonly children: readonly { readonly start: number; readonly end: number }[];
  readonly codes: Uint8Array;
  readonly fused: number;
}

interface ReferenceScore {
  readonly parent: number;
  readonly index: number;
  readonly lexical: number;
  readonly similarity: number;
  readonly score: number;
}

const parentWeight = 0.5;
const neighborWeight = 0.45;

export function referenceFineScores(
  query: {
    readonly lexicalQuery: LexicalQuery;
    readonly vector: Float32Array | null;
    readonly weights: Weights;
  },
  parents: readonly ReferenceParent[],
): ReferenceScore[] {
  const { vector, weights, lexicalQuery } = query;
  const fineChunks = parents.flatMap(({ text, language, children, codes }, parent) => {
    const similarities = vector === null ? null : computeDotProducts(vector, codes);
    return children.flatMap(({ start, end }, index) => {
      const part = text.slice(start, end);
      if (part.trim() === '') return [];
      const words = findMatchedWords(lexicalQuery, part, language);
      return [{ parent, index, similarity: similarities?.[index] ?? 0, words }];
    });
  });
  const idfs = inverseDocumentFrequencies(fineChunks.map(({ words }) => words));
  const lexical = Float32Array.from(fineChunks, ({ words }) =>
    words.reduce((sum, word) => sum + idfs.get(word)!, 0),
  );
  const similarities = Float32Array.from(fineChunks, ({ similarity }) => similarity);
  const fused = fuse(
    addNeighborScores(fineChunks, lexical),
    vector === null ? null : addNeighborScores(fineChunks, similarities),
    weights,
  );
  return fineChunks.map(({ parent, index, similarity }, i) => ({
    parent,
    index,
    similarity,
    lexical: lexical[i]!,
    score: (1 - parentWeight) * fused[i]! + parentWeight * parents[parent]!.fused,
  }));
}

/** Adds to each value a share of the values of the adjacent fine chunks in the same coarse chunk. */
function addNeighborScores(
  fineChunks: readonly { readonly parent: number; readonly index: number }[],
  values: Float32Array,
): Float32Array {
  return values.map((value, i) => {
    const { parent, index } = fineChunks[i]!;
    const neighborScore = (step: number) => {
      const other = fineChunks[i + step];
      const isNext = other?.parent === parent && other.index === index + step;
      return isNext ? values[i + step]! : 0;
    };
    return value + neighborWeight * (neighborScore(-1) + neighborScore(1));
  });
}

/** Returns the inverse document frequency of each word over the given lists. */
function inverseDocumentFrequencies(lists: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const list of lists) for (const word of list) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map(
    [...counts].map(([word, count]) => [word, Math.log(1 + (lists.length - count + 0.5) / (count + 0.5))]),
  );
}

/** Returns the dot product of `query` with every record of `quantize`. */
function computeDotProducts(query: Float32Array, records: Uint8Array): Float32Array {
  const bytes = getCodeBytes(query.length);
  assert(records.length % bytes === 0, 'codes are whole records of the dimensions of the query');
  const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
  const products = new Float32Array(records.length / bytes);
  for (let row = 0; row < products.length; row += 1) {
    const record = row * bytes;
    let sum = 0;
    for (let i = 0; i < query.length; i += 1) sum += query[i]! * view.getInt8(record + 4 + i);
    products[row] = sum * view.getFloat32(record, true);
  }
  return products;
}
