import { decodeText } from './charset.ts';
import { codePageText } from './code-page.ts';
import type { CompoundFile } from './compound-file.ts';
import { htmlToText } from './html.ts';
import type { ParseLimits } from './limits.ts';
import { mailPage } from './mail.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import { rtfToText } from './rtf.ts';
import { decompressedRtf } from './rtf-compressed.ts';
import { TextBudget } from './text-budget.ts';

/** Properties of a message by their tag. Source: [MS-OXPROPS]. */
const property = {
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

/** Messages attached to messages whose text is read along. */
const mailDepthMax = 10;
const attachmentsMax = 10_000;

/**
 * Outlook messages as one page: subject, who and when, the text, the names of attachments; messages attached to them follow.
 * Source: [MS-OXMSG].
 */
export function* parseMsg(file: CompoundFile, limits: ParseLimits): Generator<string, DocumentFacts> {
  const budget = new TextBudget(limits.textUnitsMax);
  const message = new Message(file, '', budget);
  const messageClass = message.text(property.messageClass) ?? '';
  const text = message.page(0);
  if (/^IPM\.Note\.SMIME$/i.test(messageClass) && message.body().trim() === '') {
    throw new ParseFailure('encrypted', 'The message is encrypted; only its receiver can read it.');
  }
  yield text;
  return {
    kind: 'msg',
    contentType: 'application/vnd.ms-outlook',
    unordered: false,
    headings: true,
    title: message.text(property.subject),
    language: null,
    warnings: [],
  };
}

/** One message in a folder of the compound file; the one the file is about lies at the root. */
class Message {
  private readonly file: CompoundFile;
  private readonly folder: string;
  private readonly budget: TextBudget;
  private readonly codePage: number;

  constructor(file: CompoundFile, folder: string, budget: TextBudget) {
    this.file = file;
    this.folder = folder;
    this.budget = budget;
    this.codePage = this.number(property.messageCodePage) ?? this.number(property.internetCodePage) ?? 1252;
  }

  page(depth: number): string {
    const attachments = this.attachments();
    const own = mailPage({
      subject: this.text(property.subject),
      fields: [
        ['From', this.sender()],
        ['To', this.text(property.receivers)],
        ['Cc', this.text(property.carbonCopies)],
        ['Date', this.date()],
      ],
      body: this.body(),
      attachments: attachments.flatMap(({ name }) => (name === null ? [] : [name])),
    });
    if (depth >= mailDepthMax) return own;
    const inner = attachments.flatMap(({ message }) =>
      message === null ? [] : [new Message(this.file, message, this.budget).page(depth + 1)],
    );
    return [own, ...inner].join('\n\n');
  }

  /** The text, else the HTML, else the Rich Text, whichever is there first. */
  body(): string {
    const plain = this.text(property.body) ?? '';
    if (plain.trim() !== '') return plain;
    const html = this.bytes(property.html, '0102');
    const source = html === null ? this.text(property.html) : this.htmlSource(html);
    if (source !== null) return htmlToText(source, this.budget).text;
    const compressed = this.bytes(property.rtf, '0102');
    return compressed === null ? '' : rtfToText(decompressedRtf(compressed, this.budget), this.budget);
  }

  /** A property of text, in Unicode or in the message's code page. */
  text(tag: string): string | null {
    const wide = this.bytes(tag, '001F');
    const narrow = wide === null ? this.bytes(tag, '001E') : null;
    if (wide === null && narrow === null) return null;
    const text = wide === null ? codePageText(narrow!, this.codePage) : codePageText(wide, 1200);
    this.budget.take(text.length);
    return text.replace(/\0+$/, '');
  }

  private htmlSource(html: Uint8Array): string {
    const head = new TextDecoder('latin1').decode(html.subarray(0, 4_096));
    return decodeText(html, /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1] ?? null).text;
  }

  private sender(): string | null {
    const name = this.text(property.senderName);
    const address = this.text(property.senderSmtp) ?? this.text(property.senderAddress);
    if (name === null || address === null || !address.includes('@') || name === address)
      return name ?? address;
    return `${name} <${address}>`;
  }

  private date(): string | null {
    const header = /^Date:\s*(.+)$/im.exec(this.text(property.transportHeaders) ?? '')?.[1];
    if (header !== undefined) return header;
    const at = this.fixed(property.submitted) ?? this.fixed(property.delivered);
    if (at === null) return null;
    // 100 nanoseconds since 1601.
    const moment = new Date(Number(at / 10_000n) - 11_644_473_600_000);
    return Number.isNaN(moment.getTime()) ? null : moment.toISOString();
  }

  private attachments(): { name: string | null; message: string | null }[] {
    const pattern = /^__attach_version1\.0_#[0-9A-Fa-f]+$/;
    const depth = this.folder.length;
    const folders = this.file
      .paths()
      .filter((path) => path.startsWith(this.folder) && pattern.test(path.slice(depth)))
      .slice(0, attachmentsMax)
      .sort();
    return folders.map((folder) => {
      const attached = new Message(this.file, `${folder}/`, this.budget);
      const message = `${folder}/__substg1.0_3701000D/`;
      const isMessage = this.file.has(message.slice(0, -1));
      const name =
        attached.text(property.attachedLongFile) ??
        attached.text(property.attachedFile) ??
        attached.text(property.displayName);
      return { name, message: isMessage ? message : null };
    });
  }

  private bytes(tag: string, type: string): Uint8Array | null {
    return this.file.read(`${this.folder}__substg1.0_${tag}${type}`);
  }

  private number(tag: string): number | null {
    const value = this.fixed(tag);
    return value === null ? null : Number(BigInt.asUintN(32, value));
  }

  /** Eight bytes of a property of fixed size; the list of them follows a head whose length depends on where it lies. */
  private fixed(tag: string): bigint | null {
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
