import { decodeText } from './encoding/charset.ts';
import { ParseFailure } from './parse-failure.ts';

export type XmlToken = 'open' | 'close' | 'text' | 'end';

const namedEntities = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

/**
 * Pull reader for the XML of Office files: one pass, no tree. Names have no namespace prefix, entities are
 * decoded, and an empty element is an `open` followed by a `close`. A document type with internal
 * declarations is rejected, so that no entity can be declared; files of these formats never need one. saxes
 * is slower and rejects `R&D` (docs/decisions/parsing-libraries.md).
 */
export class XmlReader {
  /** Local name of the last opened or closed element. */
  name = '';
  /** Decoded character data of the last `text` token. */
  text = '';
  /** Number of open elements, including the current one. */
  depth = 0;

  private readonly source: string;
  private readonly part: string;
  private readonly depthMax: number;
  private readonly open: string[] = [];
  private position = 0;
  private attributesStart = 0;
  private attributesEnd = 0;
  private pendingClose = false;
  /** Name and value bounds of the last attribute found. */
  private nameStart = 0;
  private nameEnd = 0;
  private valueStart = 0;
  private valueEnd = 0;

  /** `part` names the part in error messages. */
  constructor(bytes: Uint8Array, part: string, depthMax: number) {
    this.part = part;
    this.depthMax = depthMax;
    const head = new TextDecoder('latin1').decode(bytes.subarray(0, 200));
    this.source = decodeText(bytes, /^<\?xml[^>]*encoding=["']([\w.:-]+)/.exec(head)?.[1] ?? null).text;
  }

  /**
   * Advances to the next token. Errors: `corrupt` on broken nesting or truncation, `too_large` on too deep
   * nesting.
   */
  next(): XmlToken {
    if (this.pendingClose) return this.close();
    while (this.position < this.source.length) {
      const bracket = this.source.indexOf('<', this.position);
      if (bracket !== this.position) {
        const end = bracket === -1 ? this.source.length : bracket;
        const raw = this.source.slice(this.position, end);
        this.position = end;
        if (this.depth === 0) continue;
        this.text = decodeEntities(raw);
        return 'text';
      }
      const token = this.readMarkup();
      if (token !== null) return token;
    }
    if (this.depth > 0) throw this.corruptError('it is truncated');
    return 'end';
  }

  /** Returns the value of an attribute of the element just opened, by local name; the first match wins. */
  findAttribute(name: string): string | null {
    const { source } = this;
    for (let found = this.findFirstAttribute(); found; found = this.findAttributeFrom(this.valueEnd + 1)) {
      const start = this.nameEnd - name.length;
      if (start < this.nameStart || !source.startsWith(name, start)) continue;
      if (start === this.nameStart || source.charCodeAt(start - 1) === colon)
        return this.readAttributeValue();
    }
    return null;
  }

  /** Same as `findAttribute`, by the name with its prefix, for elements that have both `id` and `r:id`. */
  findQualifiedAttribute(pattern: RegExp): string | null {
    for (let found = this.findFirstAttribute(); found; found = this.findAttributeFrom(this.valueEnd + 1)) {
      if (pattern.test(this.source.slice(this.nameStart, this.nameEnd))) return this.readAttributeValue();
    }
    return null;
  }

  /** After an `open`: skips everything up to and including its `close`. */
  skip(): void {
    const target = this.depth - 1;
    while (this.depth > target) this.next();
  }

  /** After an `open`: returns all character data inside it and consumes its `close`. */
  readText(): string {
    const target = this.depth - 1;
    let inner = '';
    while (this.depth > target) if (this.next() === 'text') inner += this.text;
    return inner;
  }

  private readAttributeValue(): string {
    return decodeEntities(this.source.slice(this.valueStart, this.valueEnd));
  }

  private findFirstAttribute(): boolean {
    return this.findAttributeFrom(this.attributesStart);
  }

  /** Finds the next name with a quoted value at or after `at`, inside the tag just opened. */
  private findAttributeFrom(at: number): boolean {
    const { source, attributesEnd } = this;
    let position = at;
    while (position < attributesEnd) {
      while (position < attributesEnd && isSpace(source.charCodeAt(position))) position += 1;
      this.nameStart = position;
      while (position < attributesEnd && !endsName(source.charCodeAt(position))) position += 1;
      this.nameEnd = position;
      while (position < attributesEnd && isSpace(source.charCodeAt(position))) position += 1;
      if (source.charCodeAt(position) !== equals) {
        position = Math.max(position, this.nameStart + 1); // skip an attribute without a value
        continue;
      }
      position += 1;
      while (position < attributesEnd && isSpace(source.charCodeAt(position))) position += 1;
      const quote = source.charCodeAt(position);
      if (quote !== 0x22 && quote !== 0x27) continue;
      this.valueStart = position + 1;
      this.valueEnd = position + 1;
      while (this.valueEnd < attributesEnd && source.charCodeAt(this.valueEnd) !== quote) this.valueEnd += 1;
      return this.valueEnd < attributesEnd;
    }
    return false;
  }

  private readMarkup(): XmlToken | null {
    const { source, position } = this;
    const second = source.charCodeAt(position + 1);
    if (second === 0x21) return this.readDeclaration();
    if (second === 0x3f) {
      this.position = this.findAfter('?>', position);
      return null;
    }
    const end = this.findTagEnd(position);
    this.position = end + 1;
    if (second === 0x2f) {
      const name = getLocalName(source.slice(position + 2, end).trim());
      if (this.open.at(-1) !== name) throw this.corruptError(`the end tag ${name} has no start tag`);
      return this.close();
    }
    const empty = source.charCodeAt(end - 1) === 0x2f;
    this.openTag(position + 1, empty ? end - 1 : end);
    this.pendingClose = empty;
    return 'open';
  }

  private openTag(start: number, end: number): void {
    let nameEnd = start;
    while (nameEnd < end && !isSpace(this.source.charCodeAt(nameEnd))) nameEnd += 1;
    this.name = getLocalName(this.source.slice(start, nameEnd));
    this.attributesStart = nameEnd;
    this.attributesEnd = end;
    this.open.push(this.name);
    this.depth += 1;
    if (this.depth > this.depthMax) {
      throw new ParseFailure(
        'too_large',
        `Part ${this.part} exceeds the limit of ${this.depthMax} nested elements.`,
      );
    }
  }

  private close(): XmlToken {
    this.pendingClose = false;
    this.name = this.open.pop() ?? '';
    this.depth -= 1;
    return 'close';
  }

  private readDeclaration(): XmlToken | null {
    const { source, position } = this;
    if (source.startsWith('<!--', position)) {
      this.position = this.findAfter('-->', position + 4);
      return null;
    }
    if (source.startsWith('<![CDATA[', position)) {
      const end = this.findAfter(']]>', position);
      this.text = source.slice(position + 9, end - 3);
      this.position = end;
      return 'text';
    }
    const end = source.indexOf('>', position);
    if (end === -1 || source.slice(position, end).includes('[')) {
      throw this.corruptError('it has an internal DTD subset, which is not allowed');
    }
    this.position = end + 1; // the declaration only references an external type, which is never fetched
    return null;
  }

  /** Returns the index of the `>` that ends the tag, respecting quotes. */
  private findTagEnd(start: number): number {
    const { source } = this;
    let end = source.indexOf('>', start);
    let quote = findFirstQuote(source, start, end);
    while (end !== -1 && quote !== -1) {
      const closing = source.indexOf(source.charAt(quote), quote + 1);
      if (closing === -1) break;
      if (closing > end) end = source.indexOf('>', closing);
      quote = findFirstQuote(source, closing + 1, end);
    }
    if (end === -1) throw this.corruptError('it ends inside a tag');
    return end;
  }

  private findAfter(marker: string, from: number): number {
    const found = this.source.indexOf(marker, from);
    if (found === -1) throw this.corruptError('it is truncated');
    return found + marker.length;
  }

  private corruptError(reason: string): ParseFailure {
    return new ParseFailure(
      'corrupt',
      `The file is damaged: part ${this.part} is not well-formed XML (${reason}).`,
    );
  }
}

function findFirstQuote(source: string, from: number, end: number): number {
  for (let i = from; i < end; i++) {
    const code = source.charCodeAt(i);
    if (code === 0x22 || code === 0x27) return i;
  }
  return -1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

const colon = 0x3a;
const equals = 0x3d;

function endsName(code: number): boolean {
  return code === equals || code === 0x2f || isSpace(code);
}

function getLocalName(name: string): string {
  const colon = name.indexOf(':');
  return colon === -1 ? name : name.slice(colon + 1);
}

function decodeEntities(raw: string): string {
  if (!raw.includes('&')) return raw;
  return raw.replace(/&(#x[0-9a-fA-F]{1,6}|#[0-9]{1,7}|\w{2,4});/g, (whole, body: string) => {
    if (body.startsWith('#')) {
      const point = body[1] === 'x' ? Number.parseInt(body.slice(2), 16) : Number.parseInt(body.slice(1), 10);
      return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd';
    }
    return namedEntities.get(body) ?? whole;
  });
}
