import type { CompoundFile } from './formats/legacy/compound-file.ts';
import { isMailbox } from './formats/mail/mail-detection.ts';
import type { OfficePackage } from './formats/office/office-package.ts';
import type { OpenDocumentPackage } from './formats/opendocument/open-document.ts';
import { ParseFailure } from './parse-failure.ts';
import type { ZipArchive } from './zip.ts';

/** Errors that name the types which are recognized but have no parser. */

function unsupportedError(name: string): ParseFailure {
  return new ParseFailure('unsupported', `The file is ${name}, which is not supported.`);
}

export function unsupportedOfficeError({ root }: OfficePackage): ParseFailure {
  return new ParseFailure('unsupported', `The file is an Office package of an unsupported type (${root}).`);
}

export function unsupportedOpenDocumentError({ type }: OpenDocumentPackage): ParseFailure {
  return unsupportedError(`an OpenDocument file of type ${type}`);
}

export function unsupportedZipError(archive: ZipArchive): ParseFailure {
  return unsupportedError(describeZip(archive));
}

function describeZip(archive: ZipArchive): string {
  if (archive.has('META-INF/MANIFEST.MF')) return 'a Java archive (JAR)';
  if (archive.has('AndroidManifest.xml')) return 'an Android package (APK)';
  if (archive.has('Index/Document.iwa')) return 'an Apple iWork document';
  return 'a ZIP archive';
}

export function unsupportedCompoundError(file: CompoundFile): ParseFailure {
  if (file.hasName(/^VisioDocument$/)) return unsupportedError('a Visio drawing (VSD)');
  if (file.hasName(/^Quill$/)) return unsupportedError('a Publisher document (PUB)');
  return new ParseFailure('unsupported', 'The file is an OLE compound file of an unknown application.');
}

/** Returns null unless the source of the text is not the text that a reader sees. */
export function unsupportedTextError(head: string): ParseFailure | null {
  if (head.startsWith('%!PS')) return unsupportedError('a PostScript file');
  return isMailbox(head) ? unsupportedError('a mailbox (MBOX)') : null;
}

export async function unsupportedBinaryError(bytes: Uint8Array): Promise<ParseFailure> {
  const { fileTypeFromBuffer } = await import('file-type');
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
  return unsupportedError(name);
}
