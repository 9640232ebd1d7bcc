import { type Language, languages } from '../../src/text/languages.ts';
import { getEntryHashes, Lexicon, type LexiconEntry } from '../../src/text/lexicon.ts';
import { scanWords } from '../../src/text/scan.ts';

/** Words of the reference implementations. */
export const referenceLexicon = new Lexicon();

/** Fine terms of a chunk in TypeScript: native/text must produce identical bytes. */
export function referenceFineTerms(
  text: string,
  children: readonly { readonly end: number }[],
  language: Language | null,
): Uint8Array {
  const maskBytes = Math.ceil(children.length / 8);
  const masks = new Map<number, Uint8Array>();
  const blanks = new Uint8Array(maskBytes);
  const position = language === null ? -1 : languages.indexOf(language);
  let start = 0;
  for (const [i, { end }] of children.entries()) {
    const part = text.slice(start, end);
    start = end;
    const setBit = (mask: Uint8Array) => {
      mask[i >> 3]! |= 1 << (i & 7);
    };
    if (part.trim() === '') setBit(blanks);
    const add = (entry: LexiconEntry) => {
      const halves = getEntryHashes(entry, position);
      for (let half = 0; half < halves.length; half += 2) {
        const mask = masks.get(halves[half]!) ?? new Uint8Array(maskBytes);
        setBit(mask);
        masks.set(halves[half]!, mask);
      }
    };
    scanWords(part, {
      word: (surface) => add(referenceLexicon.getWord(surface)),
      gram: (gram) => add(referenceLexicon.getGram(gram)),
    });
  }
  const sorted = [...masks].sort(([left], [right]) => left - right);
  const header = Uint32Array.of(children.length, sorted.length, ...sorted.map(([prefix]) => prefix));
  return Buffer.concat([Buffer.from(header.buffer), ...sorted.map(([, mask]) => mask), blanks]);
}
