import { createHash } from 'node:crypto';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import type { TestRandom } from '../storage/test-random.ts';

export type ModelMetadata = Record<string, string | string[]>;

/** State of a document as submitted. */
export interface CrashDocument {
  /** Word that occurs once in this text and nowhere else; empty for a document without words. */
  readonly marker: string;
  readonly metadata: ModelMetadata;
  /** `content` of add-document. */
  readonly content: object;
  readonly raw: Uint8Array;
  readonly sha256: string;
  /** Exact text; null for files, whose extracted text is not known. */
  readonly text: string | null;
  /** Whether the file cannot be parsed. */
  readonly isUnreadable: boolean;
}

const filler =
  'the harbour master signed every delivery note before noon while two clerks counted barrels of salted herring and wrote their numbers into a large grey ledger'.split(
    ' ',
  );
const consonants = 'bcdfgkmpvz';

/** A word without vowels, so that no stemmer shortens it. */
export function markerOf(number: number): string {
  const digits = String(number).padStart(6, '0');
  return `q${[...digits].map((digit) => consonants[Number(digit)]).join('')}q`;
}

/** Generates documents of every kind, each with a unique marker. */
export class DocumentGenerator {
  readonly #random: TestRandom;
  #count = 0;

  constructor(random: TestRandom) {
    this.#random = random;
  }

  /** Generates unique metadata, so that every update can be told from every other. */
  metadata(): ModelMetadata {
    this.#count += 1;
    const tags = Array.from({ length: this.#random.below(3) }, () => `tag${this.#random.below(4)}`);
    return { edition: `e${this.#count}`, ...(tags.length === 0 ? {} : { 'list:tags': tags }) };
  }

  next(): CrashDocument {
    const roll = this.#random.below(100);
    if (roll < 40) return this.text();
    if (roll < 70) return this.#pages();
    if (roll < 88) return this.pdf(1 + this.#random.below(3));
    if (roll < 94) return this.#unreadableFile();
    return this.#stateOf({ marker: '', content: { type: 'text', text: '' }, raw: '', text: '' });
  }

  /** A text of 20 to 20 + `wordsMax` words. */
  text(wordsMax = 800): CrashDocument {
    const marker = this.#nextMarker();
    const text = this.#textAround(marker, 20 + this.#random.below(wordsMax));
    return this.#stateOf({ marker, content: { type: 'text', text }, raw: text, text });
  }

  pdf(pages: number): CrashDocument {
    const marker = this.#nextMarker();
    // Short lines: text beyond the edge of the page is not extracted.
    const texts = Array.from({ length: pages }, (_, i) =>
      this.#textAround(i === 0 ? marker : 'page', 40).replaceAll(/((?:\S+ ){7}\S+) /g, '$1\n'),
    );
    const raw = buildPdf(texts);
    return this.#stateOf({ marker, content: this.#fileContent(raw), raw, text: null });
  }

  #pages(): CrashDocument {
    const marker = this.#nextMarker();
    const count = 1 + this.#random.below(4);
    const position = this.#random.below(count);
    const pages = Array.from({ length: count }, (_, i) =>
      this.#textAround(i === position ? marker : 'page', 10 + this.#random.below(200)),
    );
    const type = this.#random.below(2) === 0 ? 'text-pages' : 'text-pages-unordered';
    const text = pages.join('\n\n');
    return this.#stateOf({ marker, content: { type, pages }, raw: text, text });
  }

  #unreadableFile(): CrashDocument {
    const marker = this.#nextMarker();
    const raw = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.from(marker), Buffer.alloc(600, 0xfe)]);
    return {
      ...this.#stateOf({ marker, content: this.#fileContent(raw), raw, text: null }),
      isUnreadable: true,
    };
  }

  #stateOf(
    parts: Pick<CrashDocument, 'marker' | 'content' | 'text'> & { raw: string | Uint8Array },
  ): CrashDocument {
    const raw = typeof parts.raw === 'string' ? Buffer.from(parts.raw) : parts.raw;
    const sha256 = createHash('sha256').update(raw).digest('hex');
    return { ...parts, raw, sha256, metadata: this.metadata(), isUnreadable: false };
  }

  #fileContent(raw: Uint8Array): object {
    return { type: 'auto', base64_data: Buffer.from(raw).toString('base64') };
  }

  #nextMarker(): string {
    this.#count += 1;
    return markerOf(this.#count);
  }

  /** A text of `count` filler words with `word` at a random position. */
  #textAround(word: string, count: number): string {
    const words = Array.from({ length: count }, () => filler[this.#random.below(filler.length)]!);
    words.splice(this.#random.below(count), 0, word);
    return words.join(' ');
  }
}
