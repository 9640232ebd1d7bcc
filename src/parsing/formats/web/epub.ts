import { decodeText } from '../../encoding/charset.ts';
import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ZipArchive } from '../../zip.ts';
import type { ParseContext } from '../format.ts';
import { openPart, resolvePart } from '../office/office-package.ts';
import { convertHtmlToText } from './html.ts';

const containerPart = 'META-INF/container.xml';
const encryptionPart = 'META-INF/encryption.xml';
/** Encryption methods that only obfuscate embedded fonts; any other method makes the text unreadable. */
const fontMethods = new Set(['http://www.idpf.org/2008/embedding', 'http://ns.adobe.com/pdf/enc#RC']);

export function isEpub(archive: ZipArchive): boolean {
  if (archive.has(containerPart)) return true;
  const mimetype = archive.has('mimetype') ? archive.read('mimetype') : null;
  return mimetype !== null && new TextDecoder().decode(mimetype).trim() === 'application/epub+zip';
}

/**
 * Parses an EPUB book in reading order, one page per spine item. Source: W3C EPUB 3.3 and, for old books, OPF
 * 2.0.1.
 */
export async function* parseEpub(
  archive: ZipArchive,
  { limits }: ParseContext,
): AsyncGenerator<string, DocumentDetails> {
  checkNotProtected(archive, limits);
  const book = readPackage(archive, limits);
  const budget = new TextBudget(limits.textUnitsMax);
  const warnings: string[] = [];
  let heading: string | null = null;
  for (const { name, isMarkup: markup } of book.spine) {
    const bytes = archive.has(name) ? archive.read(name) : null;
    if (bytes === null) warnings.push(`Part ${name} of the book is missing and was left empty.`);
    const page = bytes === null || !markup ? null : await convertHtmlToText(decodeChapter(bytes), budget);
    heading ??= page?.heading ?? null;
    yield page?.text ?? '';
  }
  return {
    headings: true,
    title: book.title ?? heading,
    language: book.language,
    warnings,
  };
}

function checkNotProtected(archive: ZipArchive, limits: ParseLimits): void {
  if (!archive.has(encryptionPart)) return;
  const reader = openPart(archive, encryptionPart, limits);
  let [method, depth] = ['', 0];
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open') continue;
    if (reader.name === 'EncryptedData') depth = reader.depth;
    // The encryption method of the key is nested deeper than that of the data.
    if (reader.name === 'EncryptionMethod' && reader.depth === depth + 1)
      method = reader.findAttribute('Algorithm') ?? '';
    if (reader.name === 'CipherReference' && !fontMethods.has(method)) {
      throw new ParseFailure('encrypted', 'The book is protected by DRM.');
    }
  }
}

interface SpineItem {
  readonly name: string;
  /** False for images that are pages themselves. */
  readonly isMarkup: boolean;
}

interface Book {
  readonly title: string | null;
  readonly language: string | null;
  readonly spine: readonly SpineItem[];
}

function readPackage(archive: ZipArchive, limits: ParseLimits): Book {
  const part = findPackagePart(archive, limits);
  const folder = part.slice(0, part.lastIndexOf('/') + 1);
  const reader = openPart(archive, part, limits);
  const items = new Map<string, SpineItem>();
  const spine: SpineItem[] = [];
  let title: string | null = null;
  let language: string | null = null;
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open') continue;
    if (reader.name === 'title') title ??= reader.readText().trim() || null;
    else if (reader.name === 'language') language ??= reader.readText().trim() || null;
    else if (reader.name === 'item') {
      const name = resolvePart(folder, decodeHref(reader.findAttribute('href') ?? ''));
      const markup = /html|xml|dtbook|oeb1/.test(reader.findAttribute('media-type') ?? '');
      items.set(reader.findAttribute('id') ?? '', { name, isMarkup: markup });
    } else if (reader.name === 'itemref') {
      const item = items.get(reader.findAttribute('idref') ?? '');
      if (item !== undefined) spine.push(item);
    }
  }
  if (spine.length === 0) throw new ParseFailure('corrupt', 'The book is damaged: it lists no chapters.');
  return { title, language, spine };
}

function findPackagePart(archive: ZipArchive, limits: ParseLimits): string {
  if (archive.has(containerPart)) {
    const reader = openPart(archive, containerPart, limits);
    for (let token = reader.next(); token !== 'end'; token = reader.next()) {
      const path = token === 'open' && reader.name === 'rootfile' ? reader.findAttribute('full-path') : null;
      if (path !== null) return resolvePart('', path);
    }
  }
  const found = archive.listNames().find((name) => name.endsWith('.opf'));
  if (found !== undefined) return found;
  throw new ParseFailure('corrupt', 'The book is damaged: its package document (OPF) is missing.');
}

/** References inside a book may contain %20 and a fragment. */
function decodeHref(href: string): string {
  const path = href.split('#')[0]!;
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return path; // a name with a literal percent sign
    throw error;
  }
}

function decodeChapter(bytes: Uint8Array): string {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 200));
  return decodeText(bytes, /^\s*<\?xml[^>]*encoding=["']([\w.:-]+)/.exec(head)?.[1] ?? null).text;
}
