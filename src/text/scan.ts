import { limits } from '../core/limits.ts';
import { characterClass, characterClassAt, characterClassOfPair } from './characters.ts';
import { normalizeCase } from './fold.ts';

/** Receives the elements of a text, in order. */
export type ScanSink = WordSink & (GramSink | RunSink);

interface WordSink {
  /** Called with a word including its connectors, for `expandWord`. */
  word(surface: string): void;
}

interface GramSink {
  /** Called with one or two characters of Chinese, Japanese or Korean. */
  gram(gram: string, role: GramRole): void;
}

interface RunSink {
  /** Called with a run of adjacent Chinese, Japanese or Korean characters. */
  run(run: string): void;
}

/**
 * `pair`: two adjacent characters. `weakPair`: two hiragana, mostly grammar. `alone`: the only character of
 * its run. `inner`: one character of a longer run, indexed for single-character queries; a query needs single
 * characters only as `alone`.
 */
export type GramRole = 'pair' | 'weakPair' | 'alone' | 'inner';

const { letter, digit, mark, han, kana, hangul, unspaced, highSurrogate } = characterClass;

/**
 * Scans a text once and emits its words. Letters and digits of scripts with spaces form words, joined by
 * single `- _ . @ &` and apostrophes into compounds. Han, kana and Hangul form overlapping pairs; Han
 * characters are also emitted individually, and for Hangul also the first syllable of a word (particles
 * follow it). Thai, Lao, Khmer and Burmese are segmented with Intl.Segmenter in short slices, because its
 * cost is quadratic on long ones. Linear for any text.
 */
export function scanWords(text: string, sink: ScanSink): void {
  let index = 0;
  while (index < text.length) {
    const kind = codePointClassAt(text, index);
    if (kind === letter || kind === digit) {
      const end = findCompoundEnd(text, index);
      sink.word(text.slice(index, end));
      index = end;
    } else if (kind === han || kind === kana || kind === hangul) {
      const end = findGramRunEnd(text, index, kind);
      const run = text.slice(index, end);
      if ('gram' in sink) scanGrams(run, sink);
      else sink.run(run);
      index = end;
    } else if (kind === unspaced) {
      index += scanUnspaced(text, index, sink);
    } else {
      index += codePointUnitsAt(text, index);
    }
  }
}

function codePointClassAt(text: string, index: number): number {
  const kind = characterClassAt(text, index);
  return kind === highSurrogate ? characterClassOfPair(text, index) : kind;
}

function codePointUnitsAt(text: string, index: number): number {
  return text.codePointAt(index)! > 0xffff ? 2 : 1;
}

function findRunEnd(text: string, start: number): number {
  let index = start;
  const last = Math.min(text.length, start + limits.termUnitsMax);
  while (index < last) {
    const kind = characterClassAt(text, index);
    if (kind === letter || kind === digit || kind === mark) index += 1;
    else if (kind === highSurrogate && characterClassOfPair(text, index) === letter) index += 2;
    else break;
  }
  return index;
}

function findCompoundEnd(text: string, start: number): number {
  let end = findRunEnd(text, start);
  for (let runs = 1; runs < limits.compoundRunsMax && isConnector(text, end); runs += 1)
    end = findRunEnd(text, end + 1);
  const next = text.charCodeAt(end);
  if (next === 0x2b && text.charCodeAt(end + 1) === 0x2b) return end + 2;
  return next === 0x23 && end - start === 1 ? end + 1 : end;
}

/** Whether the unit at `index` joins the preceding run to the letter or digit after it. */
function isConnector(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  switch (unit) {
    case 0x26: // &
    case 0x27: // '
    case 0x2d: // -
    case 0x2e: // .
    case 0x40: // @
    case 0x5f: // _
    case 0x2010:
    case 0x2011:
    case 0x2019: {
      const after = codePointClassAt(text, index + 1);
      return after === letter || after === digit;
    }
    case 0x2c: // a comma between thousands
      return (
        characterClassAt(text, index - 1) === digit &&
        characterClassAt(text, index + 1) === digit &&
        characterClassAt(text, index + 2) === digit &&
        characterClassAt(text, index + 3) === digit &&
        characterClassAt(text, index + 4) !== digit
      );
    default:
      return false;
  }
}

/** Returns the end of a run. Han and kana mix in one run (Japanese inflection); Hangul forms separate runs. */
function findGramRunEnd(text: string, start: number, first: number): number {
  let index = start;
  while (index < text.length) {
    const kind = codePointClassAt(text, index);
    const belongs = first === hangul ? kind === hangul : kind === han || kind === kana;
    if (!belongs) break;
    index += codePointUnitsAt(text, index);
  }
  return index;
}

function scanGrams(run: string, sink: GramSink): void {
  const characters = Array.from(normalizeCase(run));
  const count = characters.length;
  if (count === 1) {
    sink.gram(characters[0]!, 'alone');
    return;
  }
  const isHangul = characterClassAt(run, 0) === hangul;
  for (let index = 0; index < count; index += 1) {
    const character = characters[index]!;
    const next = characters[index + 1];
    if (isHangul ? index === 0 : codePointClassAt(character, 0) === han) sink.gram(character, 'inner');
    if (next === undefined) continue;
    sink.gram(character + next, isHiragana(character) && isHiragana(next) ? 'weakPair' : 'pair');
  }
}

function isHiragana(character: string): boolean {
  return character >= '\u3041' && character <= '\u309f';
}

const segmenter = new Intl.Segmenter('th', { granularity: 'word' });

/**
 * Returns the lengths of the words in a slice of a script without spaces; their sum is the length of the
 * slice.
 */
export function segmentWordLengths(slice: string): Uint32Array {
  return Uint32Array.from(segmenter.segment(slice), ({ segment }) => segment.length);
}

/**
 * Emits the words of the unspaced run at `start`, or of its first slice, and returns the number of units
 * consumed. The last words of a slice that does not end its run may be truncated, so they are left for the
 * next slice.
 */
function scanUnspaced(text: string, start: number, sink: WordSink): number {
  let end = start;
  const last = Math.min(text.length, start + limits.segmenterUnitsMax);
  for (let kind: number = unspaced; end < last && (kind === unspaced || kind === mark); ) {
    end += 1;
    kind = end < text.length ? characterClassAt(text, end) : characterClass.other;
  }
  const segments = [...segmenter.segment(text.slice(start, end))];
  const next = characterClassAt(text, end);
  const isWhole = next !== unspaced && next !== mark;
  const complete = isWhole || segments.length < 5 ? segments : segments.slice(0, -3);
  for (const { segment } of complete) sink.word(segment);
  return complete.reduce((length, { segment }) => length + segment.length, 0);
}
