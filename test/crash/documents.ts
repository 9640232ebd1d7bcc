import { createHash } from 'node:crypto';
import { pdfWithPages } from '../parsing/fixtures.ts';
import type { Seeded } from '../store/seeded.ts';

export type Metadata = Record<string, string | string[]>;

/** One state of a document, as a user wrote it. */
export interface Written {
  /** A word that stands once in this text and nowhere else; empty for a document without words. */
  readonly marker: string;
  readonly metadata: Metadata;
  /** `content` of add-document. */
  readonly content: object;
  readonly raw: Uint8Array;
  readonly sha256: string;
  /** The exact text where we know it: not for files. */
  readonly text: string | null;
  /** A file that cannot be read. */
  readonly broken: boolean;
}

const filler =
  'the harbour master signed every delivery note before noon while two clerks counted barrels of salted herring and wrote their numbers into a large grey ledger'.split(
    ' ',
  );
const consonants = 'bcdfgkmpvz';

/** A word without vowels, so that no stemmer ever shortens it. */
export function markerOf(number: number): string {
  const digits = String(number).padStart(6, '0');
  return `q${[...digits].map((digit) => consonants[Number(digit)]).join('')}q`;
}

/** Makes documents of every kind, each with a word of its own. */
export class DocumentMaker {
  readonly #chance: Seeded;
  #count = 0;

  constructor(chance: Seeded) {
    this.#chance = chance;
  }

  /** Also for metadata, so that every update can be told from every other. */
  metadata(): Metadata {
    this.#count += 1;
    const tags = Array.from({ length: this.#chance.below(3) }, () => `tag${this.#chance.below(4)}`);
    return { edition: `e${this.#count}`, ...(tags.length === 0 ? {} : { 'list:tags': tags }) };
  }

  make(): Written {
    const roll = this.#chance.below(100);
    if (roll < 40) return this.text();
    if (roll < 70) return this.#pages();
    if (roll < 88) return this.pdf(1 + this.#chance.below(3));
    if (roll < 94) return this.#broken();
    return this.#written({ marker: '', content: { type: 'text', text: '' }, raw: '', text: '' });
  }

  text(): Written {
    const marker = this.#marker();
    const text = this.#words(marker, 20 + this.#chance.below(800));
    return this.#written({ marker, content: { type: 'text', text }, raw: text, text });
  }

  pdf(pages: number): Written {
    const marker = this.#marker();
    // Short lines: what runs off the paper is not read.
    const texts = Array.from({ length: pages }, (_, i) =>
      this.#words(i === 0 ? marker : 'page', 40).replaceAll(/((?:\S+ ){7}\S+) /g, '$1\n'),
    );
    const raw = pdfWithPages(texts);
    return this.#written({ marker, content: this.#file(raw), raw, text: null });
  }

  #pages(): Written {
    const marker = this.#marker();
    const count = 1 + this.#chance.below(4);
    const place = this.#chance.below(count);
    const pages = Array.from({ length: count }, (_, i) =>
      this.#words(i === place ? marker : 'page', 10 + this.#chance.below(200)),
    );
    const type = this.#chance.below(2) === 0 ? 'text-pages' : 'text-pages-unordered';
    const text = pages.join('\n\n');
    return this.#written({ marker, content: { type, pages }, raw: text, text });
  }

  #broken(): Written {
    const marker = this.#marker();
    const raw = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.from(marker), Buffer.alloc(600, 0xfe)]);
    return { ...this.#written({ marker, content: this.#file(raw), raw, text: null }), broken: true };
  }

  #written(parts: Pick<Written, 'marker' | 'content' | 'text'> & { raw: string | Uint8Array }): Written {
    const raw = typeof parts.raw === 'string' ? Buffer.from(parts.raw) : parts.raw;
    const sha256 = createHash('sha256').update(raw).digest('hex');
    return { ...parts, raw, sha256, metadata: this.metadata(), broken: false };
  }

  #file(raw: Uint8Array): object {
    return { type: 'auto', base64_data: Buffer.from(raw).toString('base64') };
  }

  #marker(): string {
    this.#count += 1;
    return markerOf(this.#count);
  }

  /** A text of `count` words with `word` somewhere in it. */
  #words(word: string, count: number): string {
    const words = Array.from({ length: count }, () => filler[this.#chance.below(filler.length)]!);
    words.splice(this.#chance.below(count), 0, word);
    return words.join(' ');
  }
}
