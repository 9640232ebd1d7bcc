import { decodeCodePage } from '../../encoding/code-page.ts';
import type { TextBudget } from '../../text-budget.ts';
import { convertRtfToText } from '../legacy/rtf.ts';
import { decompressRtf } from '../legacy/rtf-decompress.ts';
import { convertHtmlToText } from '../web/html.ts';

/** `winmail.dat` (TNEF): Outlook's own message encapsulation. Source: [MS-OXTNEF]. */

const signature = 0x223e9f78;
const attribute = {
  body: 0x2800c,
  attachmentTitle: 0x18010,
  properties: 0x69003,
  codePage: 0x69007,
} as const;
/** Identifiers and types of MAPI properties. */
const property = { body: 0x1000, rtf: 0x1009, html: 0x1013 } as const;
const type = { narrow: 0x1e, wide: 0x1f, bytes: 0x102, object: 0x0d } as const;
/** Size in bytes of fixed-size property types above four bytes; all others take four bytes with padding. */
const longTypes: Readonly<Record<number, number>> = { 5: 8, 6: 8, 7: 8, 20: 8, 64: 8, 72: 16 };
const [severalFlag, namedFrom, headerBytes, valuesMax] = [0x1000, 0x8000, 6, 100_000];

export interface TnefMessage {
  readonly body: string;
  /** Names of attachments. */
  readonly attachments: readonly string[];
}

/** Reads as much of the data as possible; truncated data ends where it is cut. */
export async function readTnef(bytes: Uint8Array, budget: TextBudget): Promise<TnefMessage> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const attachments: string[] = [];
  let [plain, codePage] = ['', 1252];
  let properties: Properties = new Map();
  if (bytes.length < headerBytes || view.getUint32(0, true) !== signature) return { body: '', attachments };
  for (let at = headerBytes; at + 11 <= bytes.length; ) {
    const [name, length] = [view.getUint32(at + 1, true), view.getUint32(at + 5, true)];
    const value = bytes.subarray(at + 9, at + 9 + length);
    if (name === attribute.codePage && length >= 4) codePage = view.getUint32(at + 9, true);
    else if (name === attribute.body) plain = cutAtNull(decodeCodePage(value, codePage));
    else if (name === attribute.attachmentTitle) attachments.push(cutAtNull(decodeCodePage(value, codePage)));
    else if (name === attribute.properties) properties = readProperties(value, codePage);
    at += 11 + length;
  }
  return { body: plain.trim() === '' ? await readBody(properties, budget) : plain, attachments };
}

type Properties = ReadonlyMap<number, string | Uint8Array>;

/** Returns the text, else the HTML, else the RTF. */
async function readBody(properties: Properties, budget: TextBudget): Promise<string> {
  const body = properties.get(property.body);
  if (typeof body === 'string' && body.trim() !== '') return body;
  const html = properties.get(property.html);
  if (html !== undefined) {
    const source = typeof html === 'string' ? html : new TextDecoder().decode(html);
    return (await convertHtmlToText(source, budget)).text;
  }
  const rtf = properties.get(property.rtf);
  return rtf instanceof Uint8Array ? convertRtfToText(decompressRtf(rtf, budget), budget) : '';
}

/**
 * Returns text and byte values by identifier, the first of several. A named property has its name before its
 * value.
 */
function readProperties(bytes: Uint8Array, codePage: number): Properties {
  const found = new Map<number, string | Uint8Array>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 4;
  const number = (): number => {
    at += 4;
    return at <= bytes.length ? view.getUint32(at - 4, true) : 0;
  };
  while (at + 4 <= bytes.length) {
    const tag = number();
    const [kind, id] = [tag & 0xffff, tag >>> 16];
    if (id >= namedFrom) {
      at += 16;
      const nameBytes = number() === 0 ? 4 : alignTo4(number());
      at += nameBytes;
    }
    const single = kind & ~severalFlag;
    const isVariable =
      single === type.narrow || single === type.wide || single === type.bytes || single === type.object;
    const count = isVariable || (kind & severalFlag) !== 0 ? Math.min(number(), valuesMax) : 1;
    for (let i = 0; i < count && at < bytes.length; i++) {
      const length = isVariable ? number() : (longTypes[single] ?? 4);
      if (isVariable && !found.has(id))
        found.set(id, decodePropertyValue(single, bytes.subarray(at, at + length), codePage));
      at += alignTo4(length);
    }
  }
  return found;
}

function decodePropertyValue(kind: number, bytes: Uint8Array, codePage: number): string | Uint8Array {
  if (kind === type.wide) return cutAtNull(new TextDecoder('utf-16le').decode(bytes));
  return kind === type.narrow ? cutAtNull(decodeCodePage(bytes, codePage)) : bytes;
}

function alignTo4(length: number): number {
  return Math.ceil(length / 4) * 4;
}

function cutAtNull(text: string): string {
  const end = text.indexOf('\0');
  return end < 0 ? text : text.slice(0, end);
}
