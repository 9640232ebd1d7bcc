import { limits } from '../../src/core/limits.ts';
import type { Language } from '../../src/text/languages.ts';
import { analyzeQuery } from '../../src/text/query.ts';
import { analyzeChunks } from '../../src/text/terms.ts';

/** Same values as in native/engine/bm25.h. */
const saturation = 1.2;
const lengthNorm = 0.6;
/** Layout of a TermBlock; see src/text/terms.ts. */
const headerBytes = 8;
const entryBytes = 16;

/**
 * BM25 over whole texts with the server's parameters for chunks: its analysis and stop list, alternatives of
 * a word counted as one, k1 1.2 and b .6; without the prefix of a chunk.
 */
export class ServerBm25 {
  readonly #postings = new Map<bigint, { readonly rows: number[]; readonly counts: number[] }>();
  readonly #lengths: number[] = [];
  readonly #languages: readonly Language[];
  readonly #meanLength: number;

  constructor(texts: readonly string[]) {
    const languages = new Set<Language>();
    for (const [row, text] of texts.entries()) {
      const analysis = analyzeChunks([{ text: text.slice(0, limits.analyzedRowUnitsMax), prefix: '' }]);
      for (const language of analysis.languages) if (language !== null) languages.add(language);
      this.#lengths.push(this.#addRow(row, analysis.block));
    }
    this.#languages = [...languages];
    this.#meanLength = this.#lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, texts.length);
  }

  /** Returns the score of every text. */
  scores(query: string): Float32Array {
    const { terms, words } = analyzeQuery(query, this.#languages);
    const scores = new Float32Array(this.#lengths.length);
    for (const group of words.keys()) {
      const alternatives = terms.filter((term) => term.group === group);
      const counts = this.#countByRow(alternatives.map(({ hash }) => hash));
      const rows = this.#lengths.length;
      const idf = Math.log(1 + (rows - counts.size + 0.5) / (counts.size + 0.5));
      const weight = alternatives[0]!.weight * idf * (saturation + 1);
      for (const [row, count] of counts) {
        const length = this.#lengths[row]! / this.#meanLength;
        scores[row]! += (weight * count) / (count + saturation * (1 - lengthNorm + lengthNorm * length));
      }
    }
    return scores;
  }

  /** Returns, per row, the count of the most frequent of some terms. */
  #countByRow(hashes: readonly bigint[]): Map<number, number> {
    const counts = new Map<number, number>();
    for (const hash of hashes) {
      const posting = this.#postings.get(hash);
      posting?.rows.forEach((row, i) => {
        counts.set(row, Math.max(counts.get(row) ?? 0, posting.counts[i]!));
      });
    }
    return counts;
  }

  /** Adds the only row of a TermBlock. Returns its length in words. */
  #addRow(row: number, block: Uint8Array): number {
    const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
    const entries = view.getUint32(headerBytes, true);
    let length = 0;
    // The size of a single row is padded to eight bytes.
    for (let entry = 0, at = 2 * headerBytes; entry < entries; entry += 1, at += entryBytes) {
      const hash = view.getBigUint64(at, true);
      const count = view.getUint16(at + 8, true);
      length += count;
      const posting = this.#postings.get(hash) ?? { rows: [], counts: [] };
      this.#postings.set(hash, posting);
      posting.rows.push(row);
      posting.counts.push(count);
    }
    return length;
  }
}
