import PostalMime, { type Address, type Email } from 'postal-mime';
import { byteOrderMark, wideCharset } from './charset.ts';
import { decodeAs, withoutC1 } from './decode.ts';
import { htmlToText } from './html.ts';
import type { ParseLimits } from './limits.ts';
import { mailPage } from './mail.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import { TextBudget } from './text-budget.ts';
import { readTnef, type TnefMessage } from './tnef.ts';

/** Mail inside mail whose text is read along; what lies deeper is named as an attachment. */
const mailDepthMax = 10;

/**
 * Mails as one page: subject, who and when, the text part or else the HTML part or what Outlook packed into
 * `winmail.dat`, the names of attachments; mails attached to it follow.
 */
export async function* parseEml(
  bytes: Uint8Array,
  limits: ParseLimits,
): AsyncGenerator<string, DocumentFacts> {
  const email = await readEmail(bytes);
  if (isEnveloped(email)) {
    throw new ParseFailure('encrypted', 'The mail is encrypted; only its receiver can read it.');
  }
  yield await pageOf(email, new TextBudget(limits.textUnitsMax), 0);
  return {
    kind: 'eml',
    contentType: 'message/rfc822',
    unordered: false,
    headings: true,
    title: mended(email.subject),
    language: null,
    warnings: [],
  };
}

/** What only its receiver can open. */
function isEnveloped(email: Email): boolean {
  const type = email.headers.find(({ key }) => key === 'content-type')?.value ?? '';
  const isClosed = /^application\/(?:x-)?pkcs7-mime/i.test(type) && !/smime-type="?signed/i.test(type);
  return isClosed || /^multipart\/encrypted/i.test(type);
}

async function pageOf(email: Email, budget: TextBudget, depth: number): Promise<string> {
  const packed = packedMessages(email, budget);
  const text = bodyOf(email, budget) || packed.map(({ body }) => body).join('\n\n');
  budget.take(text.length);
  const own = mailPage({
    subject: mended(email.subject),
    fields: [
      ['From', addresses([email.from])],
      ['To', addresses(email.to)],
      ['Cc', addresses(email.cc)],
      ['Date', email.headers.find(({ key }) => key === 'date')?.value ?? null],
    ],
    body: text,
    attachments: [
      ...email.attachments.flatMap(({ filename }) => (filename === null ? [] : [filename])),
      ...packed.flatMap(({ attachments }) => attachments),
    ],
  });
  const pages = [own];
  for (const { mimeType, content } of depth < mailDepthMax ? email.attachments : []) {
    if (!/^message\/rfc822$/i.test(mimeType)) continue;
    const inner = await readEmail(bytesOf(content));
    if (!isEnveloped(inner)) pages.push(await pageOf(inner, budget, depth + 1));
  }
  return pages.join('\n\n');
}

/** What Outlook sent in its own packing, `winmail.dat`. */
function packedMessages({ attachments }: Email, budget: TextBudget): TnefMessage[] {
  return attachments
    .filter(({ mimeType, filename }) => /ms-tnef$/i.test(mimeType) || /^winmail\.dat$/i.test(filename ?? ''))
    .map(({ content }) => readTnef(bytesOf(content), budget));
}

function bytesOf(content: ArrayBuffer | Uint8Array | string): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content, 'latin1') : new Uint8Array(content);
}

/** A mail that an editor saved in UTF-16 or UTF-32 no longer has the encodings that its parts declare. */
async function readEmail(kept: Uint8Array): Promise<Email> {
  const bytes = withoutMailboxLine(kept);
  const mark = byteOrderMark(bytes);
  const wide = mark?.charset ?? wideCharset(bytes);
  const source =
    wide === null
      ? bytes
      : decodeAs(bytes.subarray(mark?.length ?? 0), wide).text.replace(
          /(charset\s*=\s*"?)utf-?(?:16|32)(?:le|be)?/gi,
          '$1utf-8',
        );
  try {
    return await PostalMime.parse(source, { maxRfc822NestingDepth: mailDepthMax });
  } catch (error) {
    if (!(error instanceof Error) || !/exceeded/i.test(error.message)) throw error;
    throw new ParseFailure('too_large', 'The mail nests too many parts or has too long headers.');
  }
}

/** Without the line that begins a mail in a mailbox, where a program kept it. */
function withoutMailboxLine(bytes: Uint8Array): Uint8Array {
  const isKept = Buffer.from(bytes.subarray(0, 5)).toString('latin1') === 'From ';
  return isKept ? bytes.subarray(bytes.indexOf(0x0a) + 1) : bytes;
}

function bodyOf(email: Email, budget: TextBudget): string {
  const text = mended(email.text) ?? '';
  if (text.trim() !== '' || email.html === undefined) return text.trim() === '' ? '' : text;
  return htmlToText(withoutC1(email.html), budget).text;
}

/** The decoder of Node 20 takes windows-1252 for ISO 8859-1. */
function mended(text: string | undefined): string | null {
  return text === undefined ? null : withoutC1(text);
}

function addresses(list: readonly (Address | undefined)[] | undefined): string {
  const shown = (list ?? []).map((one) => {
    if (one === undefined) return '';
    if (one.address === undefined) return `${one.name}: ${addresses(one.group)}`;
    if (one.name === '') return one.address;
    return one.address === '' ? one.name : `${one.name} <${one.address}>`;
  });
  return withoutC1(shown.filter((one) => one !== '').join(', '));
}
