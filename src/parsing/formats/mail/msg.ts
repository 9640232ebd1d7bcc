import { decodeText } from '../../encoding/charset.ts';
import { decodeCodePage } from '../../encoding/code-page.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ParseContext } from '../format.ts';
import type { CompoundFile } from '../legacy/compound-file.ts';
import { convertRtfToText } from '../legacy/rtf.ts';
import { decompressRtf } from '../legacy/rtf-decompress.ts';
import { convertHtmlToText } from '../web/html.ts';
import { formatMailPage } from './mail.ts';

/** Message properties by tag. Source: [MS-OXPROPS]. */
const mapiTag = {
  messageClass: '001A',
  subject: '0037',
  submitted: '0039',
  transportHeaders: '007D',
  senderName: '0C1A',
  senderAddress: '0C1F',
  senderSmtp: '5D01',
  carbonCopies: '0E03',
  receivers: '0E04',
  delivered: '0E06',
  body: '1000',
  rtf: '1009',
  html: '1013',
  attachedFile: '3704',
  attachedLongFile: '3707',
  displayName: '3001',
  internetCodePage: '3FDE',
  messageCodePage: '3FFD',
} as const;

/** Maximum depth of nested messages whose text is read. */
const mailDepthMax = 10;
const attachmentsMax = 10_000;

/**
 * Converts an Outlook message to one page: subject, sender, recipients and date, text, and attachment names;
 * attached messages follow. Source: [MS-OXMSG].
 */
export async function* parseMsg(
  file: CompoundFile,
  { limits }: ParseContext,
): AsyncGenerator<string, DocumentDetails> {
  const budget = new TextBudget(limits.textUnitsMax);
  const message = new OutlookMessage(file, '', budget);
  const messageClass = message.readText(mapiTag.messageClass) ?? '';
  const text = await message.formatPage(0);
  if (/^IPM\.Note\.SMIME$/i.test(messageClass) && (await message.readBody()).trim() === '') {
    throw new ParseFailure('encrypted', 'The message is encrypted for its recipient and cannot be read.');
  }
  yield text;
  return {
    headings: true,
    title: message.readText(mapiTag.subject),
    language: null,
    warnings: [],
  };
}

/** A message in a folder of the compound file; the main message is at the root. */
class OutlookMessage {
  private readonly file: CompoundFile;
  private readonly folder: string;
  private readonly budget: TextBudget;
  private readonly codePage: number;

  constructor(file: CompoundFile, folder: string, budget: TextBudget) {
    this.file = file;
    this.folder = folder;
    this.budget = budget;
    this.codePage =
      this.readNumber(mapiTag.messageCodePage) ?? this.readNumber(mapiTag.internetCodePage) ?? 1252;
  }

  async formatPage(depth: number): Promise<string> {
    const attachments = this.listAttachments();
    const page = formatMailPage({
      subject: this.readText(mapiTag.subject),
      fields: [
        ['From', this.formatSender()],
        ['To', this.readText(mapiTag.receivers)],
        ['Cc', this.readText(mapiTag.carbonCopies)],
        ['Date', this.readDate()],
      ],
      body: await this.readBody(),
      attachments: attachments.flatMap(({ name }) => (name === null ? [] : [name])),
    });
    if (depth >= mailDepthMax) return page;
    const pages = [page];
    for (const { message } of attachments) {
      if (message === null) continue;
      pages.push(await new OutlookMessage(this.file, message, this.budget).formatPage(depth + 1));
    }
    return pages.join('\n\n');
  }

  /** Returns the text, else the HTML, else the RTF. */
  async readBody(): Promise<string> {
    const plain = this.readText(mapiTag.body) ?? '';
    if (plain.trim() !== '') return plain;
    const html = this.readBytes(mapiTag.html, '0102');
    const source = html === null ? this.readText(mapiTag.html) : this.decodeHtml(html);
    if (source !== null) return (await convertHtmlToText(source, this.budget)).text;
    const compressed = this.readBytes(mapiTag.rtf, '0102');
    return compressed === null ? '' : convertRtfToText(decompressRtf(compressed, this.budget), this.budget);
  }

  /** Returns a text property, stored in Unicode or in the message's code page. */
  readText(tag: string): string | null {
    const wide = this.readBytes(tag, '001F');
    const narrow = wide === null ? this.readBytes(tag, '001E') : null;
    if (wide === null && narrow === null) return null;
    const text = wide === null ? decodeCodePage(narrow!, this.codePage) : decodeCodePage(wide, 1200);
    this.budget.consume(text.length);
    return text.replace(/\0+$/, '');
  }

  private decodeHtml(html: Uint8Array): string {
    const head = new TextDecoder('latin1').decode(html.subarray(0, 4_096));
    return decodeText(html, /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1] ?? null).text;
  }

  private formatSender(): string | null {
    const name = this.readText(mapiTag.senderName);
    const address = this.readText(mapiTag.senderSmtp) ?? this.readText(mapiTag.senderAddress);
    if (name === null || address === null || !address.includes('@') || name === address)
      return name ?? address;
    return `${name} <${address}>`;
  }

  private readDate(): string | null {
    const header = /^Date:\s*(.+)$/im.exec(this.readText(mapiTag.transportHeaders) ?? '')?.[1];
    if (header !== undefined) return header;
    const at = this.readFixedProperty(mapiTag.submitted) ?? this.readFixedProperty(mapiTag.delivered);
    if (at === null) return null;
    // In units of 100 nanoseconds since 1601.
    const date = new Date(Number(at / 10_000n) - 11_644_473_600_000);
    return Number.isNaN(date.getTime()) ? null : date.toISOString();
  }

  private listAttachments(): { name: string | null; message: string | null }[] {
    const pattern = /^__attach_version1\.0_#[0-9A-Fa-f]+$/;
    const depth = this.folder.length;
    const folders = this.file
      .listPaths()
      .filter((path) => path.startsWith(this.folder) && pattern.test(path.slice(depth)))
      .slice(0, attachmentsMax)
      .sort();
    return folders.map((folder) => {
      const attached = new OutlookMessage(this.file, `${folder}/`, this.budget);
      const message = `${folder}/__substg1.0_3701000D/`;
      const isMessage = this.file.has(message.slice(0, -1));
      const name =
        attached.readText(mapiTag.attachedLongFile) ??
        attached.readText(mapiTag.attachedFile) ??
        attached.readText(mapiTag.displayName);
      return { name, message: isMessage ? message : null };
    });
  }

  private readBytes(tag: string, type: string): Uint8Array | null {
    return this.file.read(`${this.folder}__substg1.0_${tag}${type}`);
  }

  private readNumber(tag: string): number | null {
    const value = this.readFixedProperty(tag);
    return value === null ? null : Number(BigInt.asUintN(32, value));
  }

  /**
   * Returns the eight bytes of a fixed-size property. The property list follows a header whose length depends
   * on the folder.
   */
  private readFixedProperty(tag: string): bigint | null {
    const stream = this.file.read(`${this.folder}__properties_version1.0`);
    if (stream === null) return null;
    const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
    const head = this.folder === '' ? 32 : this.folder.endsWith('3701000D/') ? 24 : 8;
    for (let at = head; at + 16 <= stream.length; at += 16) {
      if (view.getUint16(at + 2, true) === Number.parseInt(tag, 16)) return view.getBigUint64(at + 8, true);
    }
    return null;
  }
}
