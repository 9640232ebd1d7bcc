import type { Address, Email } from 'postal-mime';
import { detectWideCharset, findByteOrderMark } from '../../encoding/charset.ts';
import { decodeAs, replaceC1Controls } from '../../encoding/decode.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ParseContext } from '../format.ts';
import { convertHtmlToText } from '../web/html.ts';
import { formatMailPage } from './mail.ts';
import { readTnef, type TnefMessage } from './tnef.ts';

/** Maximum depth of nested messages whose text is read; deeper ones are only listed as attachments. */
const mailDepthMax = 10;

/**
 * Converts a mail to one page: subject, sender, recipients and date, then the text part, else the HTML part,
 * else the content of Outlook's `winmail.dat`, then the attachment names; attached messages follow.
 */
export async function* parseEml(
  bytes: Uint8Array,
  { limits }: ParseContext,
): AsyncGenerator<string, DocumentDetails> {
  const email = await readEmail(bytes);
  if (isEncrypted(email)) {
    throw new ParseFailure('encrypted', 'The message is encrypted for its recipient and cannot be read.');
  }
  yield await formatPage(email, new TextBudget(limits.textUnitsMax), 0);
  return {
    headings: true,
    title: repairWindows1252(email.subject),
    language: null,
    warnings: [],
  };
}

/** Whether the mail can be decrypted only by its recipient. */
function isEncrypted(email: Email): boolean {
  const type = email.headers.find(({ key }) => key === 'content-type')?.value ?? '';
  const isEncryptedPkcs7 =
    /^application\/(?:x-)?pkcs7-mime/i.test(type) && !/smime-type="?signed/i.test(type);
  return isEncryptedPkcs7 || /^multipart\/encrypted/i.test(type);
}

async function formatPage(email: Email, budget: TextBudget, depth: number): Promise<string> {
  const tnefMessages = await readTnefMessages(email, budget);
  const text = (await readBody(email, budget)) || tnefMessages.map(({ body }) => body).join('\n\n');
  budget.consume(text.length);
  const page = formatMailPage({
    subject: repairWindows1252(email.subject),
    fields: [
      ['From', formatAddresses([email.from])],
      ['To', formatAddresses(email.to)],
      ['Cc', formatAddresses(email.cc)],
      ['Date', email.headers.find(({ key }) => key === 'date')?.value ?? null],
    ],
    body: text,
    attachments: [
      ...email.attachments.flatMap(({ filename }) => (filename === null ? [] : [filename])),
      ...tnefMessages.flatMap(({ attachments }) => attachments),
    ],
  });
  const pages = [page];
  for (const { mimeType, content } of depth < mailDepthMax ? email.attachments : []) {
    if (!/^message\/rfc822$/i.test(mimeType)) continue;
    const inner = await readEmail(toBytes(content));
    if (!isEncrypted(inner)) pages.push(await formatPage(inner, budget, depth + 1));
  }
  return pages.join('\n\n');
}

/** Returns the messages in Outlook's `winmail.dat` format. */
async function readTnefMessages({ attachments }: Email, budget: TextBudget): Promise<TnefMessage[]> {
  const messages: TnefMessage[] = [];
  for (const { mimeType, filename, content } of attachments) {
    if (!/ms-tnef$/i.test(mimeType) && !/^winmail\.dat$/i.test(filename ?? '')) continue;
    messages.push(await readTnef(toBytes(content), budget));
  }
  return messages;
}

function toBytes(content: ArrayBuffer | Uint8Array | string): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content, 'latin1') : new Uint8Array(content);
}

/**
 * Parses a mail. A mail saved by an editor in UTF-16 or UTF-32 no longer has the encodings that its parts
 * declare.
 */
async function readEmail(stored: Uint8Array): Promise<Email> {
  const { default: PostalMime } = await import('postal-mime');
  const bytes = removeMailboxLine(stored);
  const mark = findByteOrderMark(bytes);
  const wide = mark?.charset ?? detectWideCharset(bytes);
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
    throw new ParseFailure('too_large', 'The message has too many nested parts or too many header bytes.');
  }
}

/** Removes the leading `From ` line of a mail exported from a mailbox. */
function removeMailboxLine(bytes: Uint8Array): Uint8Array {
  const hasMailboxLine = Buffer.from(bytes.subarray(0, 5)).toString('latin1') === 'From ';
  return hasMailboxLine ? bytes.subarray(bytes.indexOf(0x0a) + 1) : bytes;
}

async function readBody(email: Email, budget: TextBudget): Promise<string> {
  const text = repairWindows1252(email.text) ?? '';
  if (text.trim() !== '' || email.html === undefined) return text.trim() === '' ? '' : text;
  return (await convertHtmlToText(replaceC1Controls(email.html), budget)).text;
}

/** The decoder of Node 20 decodes windows-1252 as ISO 8859-1. */
function repairWindows1252(text: string | undefined): string | null {
  return text === undefined ? null : replaceC1Controls(text);
}

function formatAddresses(list: readonly (Address | undefined)[] | undefined): string {
  const formatted = (list ?? []).map((one) => {
    if (one === undefined) return '';
    if (one.address === undefined) return `${one.name}: ${formatAddresses(one.group)}`;
    if (one.name === '') return one.address;
    return one.address === '' ? one.name : `${one.name} <${one.address}>`;
  });
  return replaceC1Controls(formatted.filter((one) => one !== '').join(', '));
}
