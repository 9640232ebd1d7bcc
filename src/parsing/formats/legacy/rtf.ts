import { decodeCodePage, getFontCodePage } from '../../encoding/code-page.ts';
import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import type { SourceFile } from '../../source-file.ts';
import { TextBudget } from '../../text-budget.ts';
import { type RtfDestination, RtfText } from './rtf-text.ts';

/** Maximum nesting depth of groups; deeper nesting indicates an attack. */
const groupDepthMax = 1_000;
/** Maximum length of a control word with its number; longer ones are ignored. */
const wordUnitsMax = 32;
/** Windows code page number of symbol fonts. */
const symbolCodePage = 42;

/** Encodings named by a control word in the document header. */
const documentCodePages: ReadonlyMap<string, number> = new Map([
  ['mac', 10_000],
  ['pc', 437],
  ['pca', 850],
]);

/** Destinations whose text is not part of the document or of its running text. */
const hiddenDestinations = new Set(
  (
    'colortbl shprslt header headerf headerl headerr footer footerf footerl footerr pict fldinst nonesttables annotation atnid ' +
    'atnauthor filetbl revtbl listtable listoverridetable xe tc tcn rxe bkmkstart bkmkend private comment objdata objclass ' +
    'objname objalias datafield ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn template panose falt fname themedata ' +
    'colorschememapping latentstyles datastore userprops'
  ).split(' '),
);
/** Destinations marked as optional (`\*`) that nevertheless contain text. */
const optionalText = new Set(['shpinst', 'nesttableprops', 'do']);

const characters: ReadonlyMap<string, string> = new Map([
  ['tab', '\t'],
  ['line', '\n'],
  ['lquote', '\u2018'],
  ['rquote', '\u2019'],
  ['ldblquote', '\u201c'],
  ['rdblquote', '\u201d'],
  ['bullet', '\u2022'],
  ['endash', '\u2013'],
  ['emdash', '\u2014'],
  ['enspace', ' '],
  ['emspace', ' '],
  ['qmspace', ' '],
  ['~', '\xa0'],
  ['_', '-'],
]);

interface Group {
  destination: RtfDestination;
  /** Code page of the current font. */
  codePage: number;
  /** Number of fallback characters after a `\u`. */
  fallbackUnits: number;
  /** Whether text is hidden or deleted. */
  isHidden: boolean;
}

/** Whether the file starts with `{\rtf`, even after a byte order mark or spaces. */
export function isRtf(file: SourceFile): boolean {
  return file.matches(/^7b5c727466/) || /^\s*\{\\rtf/.test(file.head ?? '');
}

/**
 * Parses RTF: paragraphs on lines, headings by style or outline level marked with `#`, table rows as `a | b`,
 * list labels as displayed, footnotes after the page that refers to them; pages end at page breaks. Source:
 * RTF 1.9.1.
 */
export function* parseRtf(bytes: Uint8Array, limits: ParseLimits): Generator<string, DocumentDetails> {
  const text = new RtfText(new TextBudget(limits.textUnitsMax));
  const reader = new RtfReader(bytes, text);
  reader.read();
  yield* text.finishPages();
  return {
    headings: true,
    title: text.title,
    language: null,
    warnings: reader.isCutOff ? ['The document is truncated: it ends inside a group.'] : [],
  };
}

/** Returns the text of an RTF fragment, as stored by mail programs with a message. */
export function convertRtfToText(bytes: Uint8Array, budget: TextBudget): string {
  const text = new RtfText(budget);
  new RtfReader(bytes, text).read();
  return text.finishPages().join('\n\n');
}

/** Splits the bytes into groups, control words and text, and passes on the decoded text. */
class RtfReader {
  /** True when the file ends inside a group. */
  isCutOff = false;

  private readonly bytes: Uint8Array;
  private readonly source: string;
  private readonly text: RtfText;
  private readonly groups: Group[] = [];
  private group: Group = { destination: 'text', codePage: 1252, fallbackUnits: 1, isHidden: false };
  private readonly fonts = new Map<number, number>();
  private defaultCodePage = 1252;
  private font = 0;
  private position = 0;
  /** True directly after the start of a group, where a control word names its destination. */
  private atGroupStart = false;
  private isOptional = false;
  /** Number of fallback characters of a `\u` that remain to be skipped. */
  private fallbackUnitsLeft = 0;
  /** Bytes of `\'xx` that wait for the rest of a multi-byte character. */
  private pending: number[] = [];

  constructor(bytes: Uint8Array, text: RtfText) {
    this.bytes = bytes;
    this.source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    this.text = text;
  }

  read(): void {
    const special = /[\\{}\r\n]/g;
    const { source } = this;
    while (this.position < source.length) {
      special.lastIndex = this.position;
      const next = special.exec(source)?.index ?? source.length;
      if (next > this.position) this.readPlainText(this.position, next);
      this.position = next + 1;
      const mark = source[next];
      if (mark === '\\') this.readControl();
      else if (mark === '{') this.open();
      else if (mark === '}') this.close();
      if (mark === '}' && this.groups.length === 0) return; // bytes after the document are ignored
    }
    this.flush();
    this.isCutOff = this.groups.length > 0;
  }

  private open(): void {
    this.flush();
    this.fallbackUnitsLeft = 0;
    if (this.groups.length >= groupDepthMax) {
      throw new ParseFailure(
        'too_large',
        `The document exceeds the limit of ${groupDepthMax} nested groups.`,
      );
    }
    this.groups.push({ ...this.group });
    this.atGroupStart = true;
    this.isOptional = false;
  }

  private close(): void {
    this.flush();
    this.fallbackUnitsLeft = 0;
    const { destination } = this.group;
    const outer = this.groups.pop();
    if (outer !== undefined) this.group = outer;
    if (destination !== this.group.destination) this.text.endDestination(destination);
    this.atGroupStart = false;
  }

  /**
   * Reads plain text. Bytes above 127, which the standard does not allow, are also decoded in the code page.
   */
  private readPlainText(start: number, end: number): void {
    this.atGroupStart = false;
    const from = Math.min(end, start + this.fallbackUnitsLeft);
    this.fallbackUnitsLeft -= from - start;
    if (from === end || !this.acceptsText()) return;
    const part = this.source.slice(from, end);
    if (this.pending.length === 0 && !/[\x80-\xff]/.test(part)) this.add(part);
    else for (let i = from; i < end; i++) this.pending.push(this.bytes[i]!);
  }

  private readControl(): void {
    const { source } = this;
    const first = source[this.position] ?? '';
    if (!/[a-zA-Z]/.test(first)) {
      this.position += 1;
      this.handleSymbol(first);
      return;
    }
    const pattern = /([a-zA-Z]+)(-?\d+)? ?/y;
    pattern.lastIndex = this.position;
    const found = pattern.exec(source)!;
    this.position = pattern.lastIndex;
    const [whole, word = '', number] = found;
    if (whole.length > wordUnitsMax) return;
    if (word === 'bin') this.position += Math.max(0, Number(number ?? '0'));
    else if (this.fallbackUnitsLeft > 0 && word !== 'u') this.fallbackUnitsLeft -= 1;
    else this.handleWord(word, number === undefined ? null : Number(number));
  }

  private handleSymbol(symbol: string): void {
    if (symbol === "'") {
      const byte = Number.parseInt(this.source.slice(this.position, this.position + 2), 16);
      this.position += 2;
      if (this.fallbackUnitsLeft > 0) this.fallbackUnitsLeft -= 1;
      else if (!Number.isNaN(byte) && this.acceptsText()) this.pending.push(byte);
      this.atGroupStart = false;
    } else if (symbol === '*') {
      this.isOptional = true;
    } else if (this.fallbackUnitsLeft > 0) this.fallbackUnitsLeft -= 1;
    else if (symbol === '\\' || symbol === '{' || symbol === '}') this.addCharacter(symbol);
    else if (symbol === '\r' || symbol === '\n') this.handleWord('par', null);
    else this.addCharacter(characters.get(symbol) ?? '');
  }

  private addCharacter(text: string): void {
    this.flush();
    this.atGroupStart = false;
    if (text !== '' && this.acceptsText()) this.add(text);
  }

  private handleWord(word: string, number: number | null): void {
    const starts = this.atGroupStart;
    this.atGroupStart = false;
    this.flush();
    if (word === 'u') {
      this.addUnicode(number ?? 0);
      return;
    }
    if (starts && this.startDestination(word)) return;
    const character = characters.get(word);
    if (character !== undefined) this.addCharacter(character);
    else if (
      !this.setCharacterProperty(word, number) &&
      this.acceptsText() &&
      this.group.destination !== 'fonts'
    ) {
      this.text.handleControl(word, number, this.group.destination);
    }
  }

  /** Returns true when the word names the destination of the group that it starts. */
  private startDestination(word: string): boolean {
    const { group, isOptional: optional } = this;
    this.isOptional = false;
    const destination = findDestination(word, optional, group.destination);
    if (destination !== null) group.destination = destination;
    return destination !== null;
  }

  /** Returns true when the word is a character property. */
  private setCharacterProperty(word: string, number: number | null): boolean {
    const { group } = this;
    const named = documentCodePages.get(word);
    if (word === 'ansicpg') this.defaultCodePage = number ?? 1252;
    else if (named !== undefined) this.defaultCodePage = named;
    else if (word === 'uc') group.fallbackUnits = Math.min(100, Math.max(0, number ?? 1));
    else if (word === 'v' || word === 'deleted') group.isHidden = number !== 0;
    else if (word === 'plain') group.isHidden = false;
    else if (word === 'f') this.font = number ?? 0;
    else if (word === 'fcharset' || word === 'cpg') this.setFontCodePage(word, number ?? 0);
    else return false;
    if (word === 'f' || word === 'ansicpg' || named !== undefined) {
      group.codePage = this.fonts.get(this.font) ?? this.defaultCodePage;
    }
    return true;
  }

  private setFontCodePage(word: string, number: number): void {
    if (this.group.destination !== 'fonts') return;
    const codePage = word === 'cpg' ? number : getFontCodePage(number);
    // The character set of Latin fonts adds nothing to the code page of the document.
    if (codePage !== null && codePage !== 1252) this.fonts.set(this.font, codePage);
  }

  private addUnicode(number: number): void {
    this.fallbackUnitsLeft = this.group.fallbackUnits;
    const unit = number < 0 ? number + 65_536 : number;
    if (!this.acceptsText() || unit > 0x10ffff || unit < 0) return;
    if (unit > 0xffff) this.add(String.fromCodePoint(unit));
    // Symbol fonts are mapped to F000 byte by byte; above ASCII, their glyphs are symbols, mostly list
    // bullets.
    else if (unit >= 0xf080 && unit <= 0xf0ff) this.add('\u2022');
    else this.add(String.fromCharCode(unit >= 0xf020 && unit < 0xf080 ? unit - 0xf000 : unit));
  }

  private flush(): void {
    if (this.pending.length === 0) return;
    const bytes = Uint8Array.from(this.pending);
    this.pending = [];
    const symbols = this.group.codePage === symbolCodePage;
    this.add(symbols ? '\u2022'.repeat(bytes.length) : decodeCodePage(bytes, this.group.codePage));
  }

  private acceptsText(): boolean {
    return !this.group.isHidden && !droppedDestinations.has(this.group.destination);
  }

  private add(text: string): void {
    if (this.group.destination !== 'fonts') this.text.add(text, this.group.destination);
  }
}

/** Destinations whose own text is dropped; groups inside all but the first may contain text. */
const droppedDestinations: ReadonlySet<RtfDestination> = new Set([
  'hidden',
  'info',
  'unicode-pair',
  'property',
] as const);

const destinations: ReadonlyMap<string, RtfDestination> = new Map([
  ['fonttbl', 'fonts'],
  ['stylesheet', 'styles'],
  ['footnote', 'note'],
  ['listtext', 'label'],
  ['pntext', 'label'],
  ['info', 'info'],
  ['upr', 'unicode-pair'],
  ['sp', 'property'],
]);

/** Returns the destination that a control word gives to its group inside `outer`; null when it names none. */
function findDestination(word: string, optional: boolean, outer: RtfDestination): RtfDestination | null {
  if (outer === 'hidden') return 'hidden';
  if (outer === 'info') return word === 'title' ? 'title' : 'hidden';
  // The same text in 8 bits and in Unicode; the second is used.
  if (outer === 'unicode-pair') return word === 'ud' ? 'text' : 'hidden';
  if (outer === 'property') {
    if (word === 'sn') return 'propertyName';
    return word === 'sv' ? 'propertyValue' : 'hidden';
  }
  const known = destinations.get(word) ?? null;
  if (optional && known === null && !optionalText.has(word)) return 'hidden';
  return hiddenDestinations.has(word) ? 'hidden' : known;
}
