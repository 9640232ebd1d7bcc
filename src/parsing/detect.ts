import { decodeText } from './encoding/charset.ts';
import type { Format, PageStream, ParseContext, TextFile } from './formats/format.ts';
import { compoundFileSignature, openCompoundFile } from './formats/legacy/compound-file.ts';
import { openOfficePackage } from './formats/office/office-package.ts';
import { openOpenDocument } from './formats/opendocument/open-document.ts';
import { formats } from './formats/registry.ts';
import { toTextContentType } from './formats/text/plain-text.ts';
import { findDeclaredCharset } from './formats/web/markup.ts';
import type { ParseLimits } from './limits.ts';
import { ParseFailure } from './parse-failure.ts';
import { SourceFile } from './source-file.ts';
import { TextBudget } from './text-budget.ts';
import {
  unsupportedBinaryError,
  unsupportedCompoundError,
  unsupportedOfficeError,
  unsupportedOpenDocumentError,
  unsupportedTextError,
  unsupportedZipError,
} from './unsupported.ts';
import { ZipArchive } from './zip.ts';

/** A file whose format is known and whose container is open. */
export interface DetectedDocument {
  readonly format: Format;
  /** Media type with `charset` for text that is not UTF-8. */
  readonly contentType: string;
  readonly parse: (context: ParseContext) => PageStream;
}

const bareFormats = formats.filter((format) => format.container === 'none');
const officeFormats = formats.filter((format) => format.container === 'office');
const openDocumentFormats = formats.filter((format) => format.container === 'opendocument');
const zipFormats = formats.filter((format) => format.container === 'zip');
const compoundFormats = formats.filter((format) => format.container === 'compound');
const markupFormats = formats.filter((format) => format.container === 'markup');
const textFormats = formats.filter((format) => format.container === 'text');

const zipSignature = [0x50, 0x4b, 0x03, 0x04] as const;

/**
 * Detects the format by content: signatures, then containers, then text. The extension of the path only
 * distinguishes formats of text. Errors: `unsupported` with the name of the type for recognized types that
 * have no parser, `encrypted` for protected Office files, `corrupt` for broken containers.
 */
export async function detectDocument(
  bytes: Uint8Array,
  path: string | null,
  limits: ParseLimits,
): Promise<DetectedDocument> {
  if (bytes.length === 0) throw new ParseFailure('unsupported', 'The file is empty.');
  const file = new SourceFile(bytes, path);
  const bare = findFormat(bareFormats, file, file.extension);
  if (bare !== null) return bindContent(bare, bytes);
  if (file.startsWith(zipSignature)) return detectInZip(new ZipArchive(bytes, limits), limits);
  if (file.startsWith(compoundFileSignature)) return detectInCompoundFile(bytes);
  if (file.head !== null) return detectText(file, file.head, limits);
  throw await unsupportedBinaryError(bytes);
}

interface Detector<Probe> {
  readonly extensions: readonly string[];
  readonly detect: (probe: Probe, isNamed: boolean) => boolean;
}

/** Returns the first format that recognizes the file. */
function findFormat<Probe, Found extends Detector<Probe>>(
  candidates: readonly Found[],
  probe: Probe,
  extension: string | null = null,
): Found | null {
  return candidates.find((format) => format.detect(probe, isNamed(format, extension))) ?? null;
}

function isNamed({ extensions }: Pick<Format, 'extensions'>, extension: string | null): boolean {
  return extension !== null && extensions.includes(extension);
}

function bindContent<Content>(
  format: Format & { readonly parse: (content: Content, context: ParseContext) => PageStream },
  content: Content,
  contentType: string = format.mediaType,
): DetectedDocument {
  return { format, contentType, parse: (context) => format.parse(content, context) };
}

function detectInZip(archive: ZipArchive, limits: ParseLimits): DetectedDocument {
  const office = openOfficePackage(archive, limits);
  if (office !== null) {
    const format = findFormat(officeFormats, office);
    if (format !== null) return bindContent(format, office);
    throw unsupportedOfficeError(office);
  }
  const openDocument = openOpenDocument(archive);
  if (openDocument !== null) {
    const format = findFormat(openDocumentFormats, openDocument);
    if (format !== null) return bindContent(format, openDocument);
    throw unsupportedOpenDocumentError(openDocument);
  }
  const format = findFormat(zipFormats, archive);
  if (format !== null) return bindContent(format, archive);
  throw unsupportedZipError(archive);
}

function detectInCompoundFile(bytes: Uint8Array): DetectedDocument {
  const file = openCompoundFile(bytes);
  const format = findFormat(compoundFormats, file);
  if (format !== null) return bindContent(format, file);
  throw unsupportedCompoundError(file);
}

function detectText(file: SourceFile, head: string, { textUnitsMax }: ParseLimits): DetectedDocument {
  const { bytes, extension } = file;
  const unsupported = unsupportedTextError(head);
  if (unsupported !== null) throw unsupported;
  const markup = findFormat(markupFormats, file, extension);
  if (markup !== null) {
    const decoded = decodeText(bytes, findDeclaredCharset(head));
    return bindContent(markup, decoded, toTextContentType(markup.mediaType, decoded));
  }
  const text: TextFile = { ...decodeText(bytes), extension };
  const named = textFormats.filter((format) => isNamed(format, extension));
  // A text that is too long fails here, before inspection, unless it gets shorter.
  if (!named.some((format) => format.isCondensed)) new TextBudget(textUnitsMax).consume(text.text.length);
  const format = named.find((one) => one.isDecidedByExtension) ?? findFormat(textFormats, text, extension);
  if (format === null) throw new Error('no format accepts a text');
  return bindContent(format, text, toTextContentType(format.mediaType, text));
}
