import { assert } from '../../src/core/assert.ts';
import { limits } from '../../src/core/limits.ts';
import { chooseLanguage, type Language, languages, parseLanguageTag } from '../../src/text/languages.ts';
import { getEntryHashes, type LexiconEntry } from '../../src/text/lexicon.ts';
import { scanWords } from '../../src/text/scan.ts';
import type { AnalysisRow, ChunkAnalysis } from '../../src/text/terms.ts';
import { referenceFineTerms, referenceLexicon } from './reference-fine-terms.ts';

/** Original implementation of chunk analysis in TypeScript: native/text must produce identical bytes. */

const termBlockMagic = 0x31425451;
const wordsPerEntry = 4;
const countMax = 0xffff;
/** The first words of a row, up to this number of UTF-16 units in total, count twice. */
const leadingUnits = 100;

/** Collects rows and builds the block. */
class TermBlockPacker {
  readonly #sizes: Uint32Array;
  readonly #row = new Occurrences();
  #words = new Uint32Array(1_024);
  #rows = 0;
  #entries = 0;

  constructor(rowCount: number) {
    this.#sizes = new Uint32Array(rowCount);
  }

  /** Number of entries so far. */
  get entries(): number {
    return this.#entries;
  }

  /**
   * Adds a row stemmed for the language at `position` (-1: unknown) and returns its number of term
   * occurrences.
   */
  add(body: ScannedText, prefix: ScannedText, position: number): number {
    const row = this.#row;
    row.clear();
    for (const entry of body.entries) row.add(getEntryHashes(entry, position));
    const once = row.count;
    for (const entry of leadingEntries(body)) row.add(getEntryHashes(entry, position));
    const bodyOccurrences = row.count;
    for (const entry of prefix.entries) row.add(getEntryHashes(entry, position));
    const before = this.#entries;
    this.#reserve(row.count);
    row.forEachTerm(bodyOccurrences, (high, low, bodyCount, prefixCount) => {
      const offset = this.#entries * wordsPerEntry;
      this.#words[offset] = low;
      this.#words[offset + 1] = high;
      this.#words[offset + 2] = Math.min(bodyCount, countMax) | (Math.min(prefixCount, countMax) << 16);
      this.#words[offset + 3] = 0;
      this.#entries += 1;
    });
    this.#sizes[this.#rows] = this.#entries - before;
    this.#rows += 1;
    return row.count - (bodyOccurrences - once);
  }

  finish(): Uint8Array {
    const headerWords = 2 + this.#sizes.length + (this.#sizes.length % 2);
    const block = new Uint32Array(headerWords + this.#entries * wordsPerEntry);
    block[0] = termBlockMagic;
    block[1] = this.#sizes.length;
    block.set(this.#sizes, 2);
    block.set(this.#words.subarray(0, this.#entries * wordsPerEntry), headerWords);
    return new Uint8Array(block.buffer);
  }

  #reserve(entries: number): void {
    const needed = (this.#entries + entries) * wordsPerEntry;
    if (needed <= this.#words.length) return;
    const larger = new Uint32Array(Math.max(needed, this.#words.length * 2));
    larger.set(this.#words);
    this.#words = larger;
  }
}

/** Factor that leaves space for the position of an occurrence below its hash in an exact double. */
const positionsMax = 2 ** 20;

/** Term occurrences of one row, to be sorted and counted. */
class Occurrences {
  #highs = new Uint32Array(1_024);
  #lows = new Uint32Array(1_024);
  #keys = new Float64Array(1_024);
  count = 0;

  clear(): void {
    this.count = 0;
  }

  /** `halves`: (high, low) pairs. */
  add(halves: Uint32Array): void {
    if (this.count + halves.length > this.#highs.length) this.#grow(halves.length);
    for (let index = 0; index < halves.length; index += 2) {
      this.#highs[this.count] = halves[index]!;
      this.#lows[this.count] = halves[index + 1]!;
      this.count += 1;
    }
  }

  /**
   * Visits each distinct term in ascending order of hash; occurrences from `bodyOccurrences` on belong to the
   * prefix.
   */
  forEachTerm(
    bodyOccurrences: number,
    visit: (high: number, low: number, bodyCount: number, prefixCount: number) => void,
  ): void {
    assert(this.count <= positionsMax, 'a row is at most one chunk');
    const keys = this.#keys.subarray(0, this.count);
    for (let index = 0; index < this.count; index += 1)
      keys[index] = this.#highs[index]! * positionsMax + index;
    keys.sort();
    for (let from = 0; from < this.count; ) {
      const high = Math.floor(keys[from]! / positionsMax);
      let to = from + 1;
      while (to < this.count && keys[to]! < (high + 1) * positionsMax) to += 1;
      const positions = keys.subarray(from, to);
      for (let index = 0; index < positions.length; index += 1)
        positions[index] = positions[index]! % positionsMax;
      this.#visitEqualHighs(high, positions, bodyOccurrences, visit);
      from = to;
    }
  }

  /** Almost always one term; two terms may have the same upper half of their hashes. */
  #visitEqualHighs(
    high: number,
    positions: Float64Array,
    bodyOccurrences: number,
    visit: (high: number, low: number, bodyCount: number, prefixCount: number) => void,
  ): void {
    const lows = this.#lows;
    const first = lows[positions[0]!]!;
    if (positions.some((position) => lows[position] !== first)) {
      positions.sort((left, right) => lows[left]! - lows[right]! || left - right);
    }
    let bodyCount = 0;
    let prefixCount = 0;
    for (let index = 0; index < positions.length; index += 1) {
      const position = positions[index]!;
      if (position < bodyOccurrences) bodyCount += 1;
      else prefixCount += 1;
      const next = positions[index + 1];
      if (next !== undefined && lows[next] === lows[position]) continue;
      visit(high, lows[position]!, bodyCount, prefixCount);
      bodyCount = 0;
      prefixCount = 0;
    }
  }

  #grow(extra: number): void {
    const length = (this.count + extra) * 2;
    const highs = new Uint32Array(length);
    const lows = new Uint32Array(length);
    highs.set(this.#highs);
    lows.set(this.#lows);
    this.#highs = highs;
    this.#lows = lows;
    this.#keys = new Float64Array(length);
  }
}

/** Votes of the words of a chunk for each language. */
class LanguageVotes {
  readonly #votes = new Float64Array(languages.length);
  #words = 0;

  add(stops: readonly number[]): void {
    this.#words += 1;
    for (const position of stops) this.#votes[position] = this.#votes[position]! + 1 / stops.length;
  }

  winningLanguage(): Language | null {
    return chooseLanguage(this.#votes, this.#words);
  }
}

/**
 * Terms of the chunks of one document. `language` is the language declared by the document (a tag such as
 * "de-AT"); it is used only if the words are ambiguous, because such declarations are often
 * wrong.
 */
export function referenceChunks(rows: readonly AnalysisRow[], language: string | null = null): ChunkAnalysis {
  const fallback = documentLanguage(rows) ?? parseLanguageTag(language);
  const packer = new TermBlockPacker(rows.length);
  const rowLanguages: (Language | null)[] = [];
  let tokens = 0;
  for (const row of rows) {
    assert(row.text.length + row.prefix.length <= limits.analyzedRowUnitsMax, 'a row is at most one chunk');
    const votes = new LanguageVotes();
    const body = scan(row.text, votes);
    const isEmpty = body.entries.length === 0;
    const prefix = isEmpty ? { entries: [], units: [] } : scan(row.prefix, null);
    const rowLanguage = isEmpty ? null : (votes.winningLanguage() ?? fallback);
    rowLanguages.push(rowLanguage);
    tokens += packer.add(body, prefix, rowLanguage === null ? -1 : languages.indexOf(rowLanguage));
  }
  const fineTerms = packFineTerms(rows, rowLanguages);
  return { block: packer.finish(), languages: rowLanguages, tokens, terms: packer.entries, fineTerms };
}

function packFineTerms(rows: readonly AnalysisRow[], rowLanguages: readonly (Language | null)[]): Uint8Array {
  const blocks = rows.map(({ text, children = [] }, i) =>
    referenceFineTerms(text, children, rowLanguages[i]!),
  );
  const sizes = Uint32Array.from(blocks, ({ length }) => length);
  return Buffer.concat([Buffer.from(sizes.buffer), ...blocks]);
}

/** Detects the language on rows spread evenly over the document, so that no single table or quotation decides it. */
function documentLanguage(rows: readonly AnalysisRow[]): Language | null {
  const votes = new LanguageVotes();
  const step = Math.max(1, rows.length / limits.languageSampleRowsMax);
  for (let index = 0; index < rows.length; index += step) scan(rows[Math.floor(index)]!.text, votes);
  return votes.winningLanguage();
}

/** Entries of a text and the length of each in UTF-16 units. */
interface ScannedText {
  readonly entries: LexiconEntry[];
  readonly units: number[];
}

function scan(text: string, votes: LanguageVotes | null): ScannedText {
  const scanned: ScannedText = { entries: [], units: [] };
  const addEntry = (entry: LexiconEntry, spelled: string) => {
    scanned.entries.push(entry);
    scanned.units.push(spelled.length);
    votes?.add(entry.stopLanguages);
  };
  scanWords(text, {
    word(surface) {
      const entry = referenceLexicon.getWord(surface);
      if (entry.pieces.length > 0) addEntry(entry, surface);
    },
    gram: (gram) => addEntry(referenceLexicon.getGram(gram), gram),
  });
  return scanned;
}

function leadingEntries({ entries, units }: ScannedText): LexiconEntry[] {
  let sum = 0;
  const unitsBefore = units.findIndex((length) => {
    sum += length;
    return sum > leadingUnits;
  });
  return unitsBefore < 0 ? entries : entries.slice(0, unitsBefore);
}
