import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { ZipArchive } from '../../zip.ts';
import { openPart } from '../office/office-package.ts';

/** Package layer shared by ODT, ODP and ODS. Source: OASIS OpenDocument 1.3, part 2. */

export interface OpenDocumentPackage {
  readonly archive: ZipArchive;
  /** Last part of the media type, for example `text`. */
  readonly type: string;
}

/** Returns null when the archive is not an OpenDocument file. Errors: `encrypted`. */
export function openOpenDocument(archive: ZipArchive): OpenDocumentPackage | null {
  const manifest = readText(archive, 'META-INF/manifest.xml');
  const declared = readText(archive, 'mimetype').trim() || parseRootType(manifest);
  const type = /^application\/vnd\.oasis\.opendocument\.(\w+)/.exec(declared)?.[1];
  if (type === undefined) return null;
  if (manifest.includes('encryption-data')) {
    throw new ParseFailure('encrypted', 'The OpenDocument file is encrypted with a password.');
  }
  return { archive, type };
}

/** Whether the package has the type. Errors: `corrupt` without `content.xml`. */
export function isOpenDocument({ archive, type }: OpenDocumentPackage, expected: string): boolean {
  if (type !== expected) return false;
  if (!archive.has('content.xml')) {
    throw new ParseFailure(
      'corrupt',
      'The OpenDocument file is damaged: its main part content.xml is missing.',
    );
  }
  return true;
}

/** Returns the media type of the package from the manifest, for packages without a `mimetype`. */
function parseRootType(manifest: string): string {
  const entry = /<[^>]+full-path="\/"[^>]*>/.exec(manifest)?.[0] ?? '';
  return /media-type="([^"]*)"/.exec(entry)?.[1] ?? '';
}

function readText(archive: ZipArchive, name: string): string {
  const bytes = archive.has(name) ? archive.read(name) : null;
  return bytes === null ? '' : new TextDecoder().decode(bytes);
}

/** Returns the title and language from `meta.xml`. */
export function readOpenDocumentProperties(
  archive: ZipArchive,
  limits: ParseLimits,
): { title: string | null; language: string | null } {
  const properties: { title: string | null; language: string | null } = { title: null, language: null };
  if (!archive.has('meta.xml')) return properties;
  const reader = openPart(archive, 'meta.xml', limits);
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open') continue;
    if (reader.name === 'title') properties.title ??= reader.readText().trim() || null;
    else if (reader.name === 'language') properties.language ??= reader.readText().trim() || null;
  }
  return properties;
}
