import { fileTypeFromBuffer } from 'file-type';
import { computeControlShare, decodeText, detectWideCharset, findByteOrderMark } from './encoding/charset.ts';
import type { DecodedText } from './encoding/decode.ts';
import { isIso2022Kr } from './encoding/escaped-charsets.ts';
import { detectImageKind, type ImageKind } from './formats/image/image-kind.ts';
import { CompoundFile, compoundFileMagic } from './formats/legacy/compound-file.ts';
import { detectOfficeKind, type OfficeKind } from './formats/office/office-package.ts';
import { detectOpenDocumentKind, type OpenDocumentKind } from './formats/opendocument/open-document.ts';
import { countColumns } from './formats/text/delimited.ts';
import { isNotebook } from './formats/text/notebook.ts';
import { controlShareMax } from './formats/text/plain-text.ts';
import { isEpub } from './formats/web/epub.ts';
import type { ParseLimits } from './limits.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentKind } from './process/parse-task.ts';
import { TextBudget } from './text-budget.ts';
import { ZipArchive } from './zip.ts';

type TextKind = Extract<
  DocumentKind,
  'text' | 'markdown' | 'code' | 'json' | 'notebook' | 'xml' | 'csv' | 'tsv' | 'html' | 'xhtml'
>;

type CompoundKind = Extract<DocumentKind, 'msg' | 'doc' | 'ppt' | 'xls'>;

/**
 * Detected kind with its content: decoded text, an opened container, or nothing where the parser reads the
 * raw bytes.
 */
export type DetectedDocument =
  | { readonly kind: TextKind; readonly decoded: DecodedText }
  | { readonly kind: OpenDocumentKind | 'epub'; readonly archive: ZipArchive }
  | { readonly kind: ImageKind }
  | { readonly kind: OfficeKind; readonly archive: ZipArchive; readonly mainPart: string }
  | { readonly kind: CompoundKind; readonly file: CompoundFile }
  | { readonly kind: 'pdf' | 'rtf' | 'eml' };

const sniffBytes = 4_096;
/** `{\rtf` */
const richTextMagic = [0x7b, 0x5c, 0x72, 0x74, 0x66] as const;

/**
 * Detects the type by content: byte order mark, magic numbers (containers are inspected), then text
 * heuristics. The extension of the path only distinguishes kinds of text. Errors: `unsupported` with the name
 * of the type for recognized types that have no parser, `encrypted` for protected Office files, `corrupt` for
 * broken containers.
 */
export async function detectDocument(
  bytes: Uint8Array,
  path: string | null,
  limits: ParseLimits,
): Promise<DetectedDocument> {
  if (bytes.length === 0) throw new ParseFailure('unsupported', 'The file is empty.');
  if (findByteOrderMark(bytes) === null) {
    if (isPdf(bytes)) return { kind: 'pdf' };
    if (startsWith(bytes, [0x50, 0x4b, 0x03, 0x04])) return detectZip(bytes, limits);
    if (startsWith(bytes, compoundFileMagic)) return detectCompoundFile(bytes);
    if (startsWith(bytes, richTextMagic)) return { kind: 'rtf' };
  }
  const image = detectImageKind(bytes);
  if (image !== null) return { kind: image };
  if (mayBeText(bytes)) return detectText(bytes, getExtension(path), limits);
  throw await unsupportedBinaryError(bytes);
}

/**
 * Up to 1 KiB of arbitrary bytes may precede the header; in that case the file must also contain PDF objects.
 */
function isPdf(bytes: Uint8Array): boolean {
  const head = decodeLatin1(bytes, 1_024 + 8);
  if (/^\s*%PDF-/.test(head)) return true;
  return (
    /%PDF-\d\.\d/.test(head) && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes('endobj')
  );
}

function detectZip(bytes: Uint8Array, limits: ParseLimits): DetectedDocument {
  const archive = new ZipArchive(bytes, limits);
  const office = detectOfficeKind(archive, limits);
  if (office !== null) return { ...office, archive };
  const openDocument = detectOpenDocumentKind(archive);
  if (openDocument !== null) return { kind: openDocument, archive };
  if (isEpub(archive)) return { kind: 'epub', archive };
  throw new ParseFailure('unsupported', `The file is ${describeZip(archive)}, which is not supported.`);
}

function describeZip(archive: ZipArchive): string {
  if (archive.has('META-INF/MANIFEST.MF')) return 'a Java archive (JAR)';
  if (archive.has('AndroidManifest.xml')) return 'an Android package (APK)';
  if (archive.has('Index/Document.iwa')) return 'an Apple iWork document';
  return 'a ZIP archive';
}

/** Streams of a compound file and their meaning; the first match wins. */
const compoundFileTypes: readonly { stream: RegExp; kind: CompoundKind | null; name: string }[] = [
  { stream: /^WordDocument$/, kind: 'doc', name: 'a Word 97-2003 document (DOC)' },
  { stream: /^(Workbook|Book)$/, kind: 'xls', name: 'an Excel 97-2003 workbook (XLS)' },
  { stream: /^PowerPoint Document$/, kind: 'ppt', name: 'a PowerPoint 97-2003 presentation (PPT)' },
  { stream: /^__substg1\.0_|^__properties_version1\.0$/, kind: 'msg', name: 'an Outlook message (MSG)' },
  { stream: /^VisioDocument$/, kind: null, name: 'a Visio drawing (VSD)' },
  { stream: /^Quill$/, kind: null, name: 'a Publisher document (PUB)' },
];

function detectCompoundFile(bytes: Uint8Array): DetectedDocument {
  const file = new CompoundFile(bytes);
  const names = file.listNames();
  if (names.includes('EncryptedPackage')) {
    throw new ParseFailure('encrypted', 'The Office file is encrypted with a password.');
  }
  const known = compoundFileTypes.find(({ stream }) => names.some((name) => stream.test(name)));
  if (known === undefined) {
    throw new ParseFailure('unsupported', 'The file is an OLE compound file of an unknown application.');
  }
  if (known.kind !== null) return { kind: known.kind, file };
  throw new ParseFailure('unsupported', `The file is ${known.name}, which is not supported.`);
}

/** Whether there is no NUL outside UTF-16/32 and the share of control characters is low. */
function mayBeText(bytes: Uint8Array): boolean {
  if (findByteOrderMark(bytes) !== null || detectWideCharset(bytes) !== null) return true;
  if (bytes.includes(0)) return false;
  const head = decodeLatin1(bytes, 65_536);
  return (isIso2022Kr(head) || computeControlShare(head) <= controlShareMax) && !isKnownBinary(bytes);
}

/** Formats whose first bytes contain no NUL although the rest is not text. */
function isKnownBinary(bytes: Uint8Array): boolean {
  const magics = [
    [0xff, 0xd8, 0xff],
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
    [0x1f, 0x8b, 0x08],
    [0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59],
    [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c],
    [0x28, 0xb5, 0x2f, 0xfd],
  ];
  return magics.some((magic) => startsWith(bytes, magic));
}

function detectText(
  bytes: Uint8Array,
  extension: string | null,
  { textUnitsMax }: ParseLimits,
): DetectedDocument {
  const head = decodeText(bytes.subarray(0, sniffBytes)).text;
  if (/^\s*\{\\rtf/.test(head)) return { kind: 'rtf' };
  if (isEmail(head, extension) || isSingleMailboxMessage(head, bytes)) return { kind: 'eml' };
  const unread = findUnsupportedTextType(head);
  if (unread !== null)
    throw new ParseFailure('unsupported', `The file is ${unread}, which is not supported.`);
  const markup = detectMarkupKind(head, extension);
  const decoded = decodeText(bytes, findDeclaredCharset(head, markup));
  if (markup !== null) return { kind: markup, decoded };
  // Everything except tables and notebooks is kept verbatim, so a text that is too long fails here, before
  // inspection.
  if (!extractedExtensions.has(extension ?? '')) new TextBudget(textUnitsMax).consume(decoded.text.length);
  return { kind: detectPlainKind(decoded.text, extension), decoded };
}

/** Text-encoded types whose source is not the text that a reader sees. */
function findUnsupportedTextType(head: string): string | null {
  if (head.startsWith('%!PS')) return 'a PostScript file';
  if (mailboxLine.test(head)) return 'a mailbox (MBOX)';
  return null;
}

const mailboxLine = /^From \S+.*\r?\n[A-Za-z-]+: /;

/** Whether this is a single mail saved with the `From ` line of a mailbox, with no other mail after it. */
function isSingleMailboxMessage(head: string, bytes: Uint8Array): boolean {
  if (!mailboxLine.test(head)) return false;
  return !/\n\r?\nFrom \S+.*\r?\n[A-Za-z-]+: /.test(decodeLatin1(bytes, bytes.length));
}

/**
 * Whether the text starts with a block of header lines, and either is named `.eml` or has headers that only a
 * mail program writes.
 */
function isEmail(head: string, extension: string | null): boolean {
  const block =
    /^(?:[A-Za-z][A-Za-z0-9-]*:[^\n]*\n(?:[ \t][^\n]*\n)*)+/.exec(head.replaceAll('\r\n', '\n'))?.[0] ?? '';
  if (extension === 'eml') return block !== '';
  const sender = /^From:/im.test(block);
  return sender && /^(MIME-Version|Message-ID|Received|Return-Path|Delivered-To):/im.test(block);
}

function detectMarkupKind(head: string, extension: string | null): 'html' | 'xhtml' | 'xml' | null {
  const start = head.replace(/^(?:\s+|<!--[\s\S]*?-->)+/, '');
  const xml = /^<\?xml\b[^>]*\?>/.exec(start);
  const body = xml === null ? start : start.slice(xml[0].length).replace(/^(?:\s+|<!--[\s\S]*?-->)+/, '');
  const page = /^<(?:!doctype\s+html|html|head|body|title|meta|script|link)\b/i.test(body);
  if (xml !== null) return page ? 'xhtml' : 'xml';
  if (extension === 'md' || extension === 'markdown')
    return /^<(?:!doctype\s+html|html)\b/i.test(body) ? 'html' : null;
  if (page) return 'html';
  const named = extension !== null && htmlExtensions.has(extension);
  if (/^<[a-z!]/i.test(body) && named) return 'html';
  const fragment = /^<(?:div|p|h[1-6]|table|ul|ol|section|article|main|span|center|font|br)\b[^>]*>/i.test(
    body,
  );
  return fragment && (extension === null || extension === 'txt') ? 'html' : null;
}

function findDeclaredCharset(head: string, markup: 'html' | 'xhtml' | 'xml' | null): string | null {
  if (markup === null) return null;
  const declaration = /^\s*<\?xml[^>]*encoding=["']([\w.:-]+)/.exec(head);
  return declaration?.[1] ?? /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(head)?.[1] ?? null;
}

/** Extensions of kinds whose text is shorter than their source. */
const extractedExtensions = new Set(['csv', 'tsv', 'tab', 'ipynb']);
const htmlExtensions = new Set(['html', 'htm', 'xhtml', 'xht', 'shtml']);
const markdownExtensions = new Set(['md', 'markdown', 'mdown', 'mkd', 'mkdn', 'mdx', 'rmd', 'qmd']);
const plainExtensions = new Set([
  'txt',
  'text',
  'log',
  'rst',
  'adoc',
  'asciidoc',
  'org',
  'tex',
  'srt',
  'vtt',
  'nfo',
]);

const codeExtensions = new Set(
  (
    'asm awk bash bat c cc clj cmake cmd cpp cs css cxx dart diff ex exs f90 fs go gradle groovy h hpp hs ini ipynb java ' +
    'jl js json jsonl jsx kt less lisp lua m mk mjs ml mm patch php pl pm proto ps1 py r rb rs scala scss sh sql svelte ' +
    'swift tcl tf toml ts tsx v vb vim vue yaml yml zig zsh'
  ).split(' '),
);

function detectPlainKind(
  text: string,
  extension: string | null,
): 'text' | 'markdown' | 'code' | 'json' | 'notebook' | 'csv' | 'tsv' {
  if (extension === 'csv') return 'csv';
  if (extension === 'tsv' || extension === 'tab') return 'tsv';
  if (extension !== null && markdownExtensions.has(extension)) return 'markdown';
  if (extension !== null && plainExtensions.has(extension)) return 'text';
  if (isJson(text)) return isNotebook(text) ? 'notebook' : 'json';
  if (extension !== null && codeExtensions.has(extension)) return 'code';
  if (extension !== null) return 'text';
  if (isTable(text, ',', 3) || isTable(text, ';', 3)) return 'csv';
  if (isTable(text, '\t', 2)) return 'tsv';
  return isMarkdown(text) ? 'markdown' : 'text';
}

function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text) || !/[\]}]\s*$/.test(text.slice(-200))) return false;
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false; // text that only resembles JSON
    throw error;
  }
}

/** Without an extension, at least five rows must agree on the number of fields. */
function isTable(text: string, delimiter: ',' | ';' | '\t', fieldsMin: number): boolean {
  const sample = text.slice(0, 65_536);
  const { rows, fields } = countColumns(sample, delimiter, sample.length < text.length);
  return rows >= 5 && fields >= fieldsMin;
}

/** Without an extension: two headings, or one heading and another construct specific to Markdown. */
function isMarkdown(text: string): boolean {
  const sample = text.slice(0, 20_000);
  const headings = sample.match(/^#{1,6} \S/gm)?.length ?? 0;
  const others = /^```|^\s*[-*] \S|\[[^\]\n]+\]\([^)\n]+\)|\*\*[^*\n]+\*\*/m.test(sample);
  return (
    !sample.startsWith('#!') && (headings >= 2 || (headings === 1 && others)) && /^#{1,2} \S/m.test(sample)
  );
}

async function unsupportedBinaryError(bytes: Uint8Array): Promise<ParseFailure> {
  const type = await fileTypeFromBuffer(bytes);
  if (type === undefined) {
    return new ParseFailure('unsupported', 'The file is binary data of an unknown type.');
  }
  const family = /^(image|audio|video|font)\//.exec(type.mime)?.[1];
  const article = family !== undefined && /^[aeiou]/.test(family) ? 'an' : 'a';
  const name =
    family === undefined
      ? `a ${type.ext.toUpperCase()} file`
      : `${article} ${family} (${type.ext.toUpperCase()})`;
  return new ParseFailure('unsupported', `The file is ${name}, which is not supported.`);
}

/** Returns the lower-case extension without the dot, or null. */
function getExtension(path: string | null): string | null {
  const name = path?.split(/[\\/]/).at(-1) ?? '';
  return /[^.]\.([A-Za-z0-9]{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? null;
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}

function decodeLatin1(bytes: Uint8Array, length: number): string {
  return new TextDecoder('latin1').decode(bytes.subarray(0, length));
}
