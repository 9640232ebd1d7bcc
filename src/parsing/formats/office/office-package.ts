import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import { XmlReader } from '../../xml-reader.ts';
import type { ZipArchive } from '../../zip.ts';

/** Package layer shared by DOCX, PPTX and XLSX. Source: ECMA-376 part 2 (Open Packaging Conventions). */

export interface OfficePackage {
  readonly archive: ZipArchive;
  readonly mainPart: string;
  /** Name of the root element of the main part. */
  readonly root: string;
}

export interface Relationship {
  /** Last path segment of the relationship type, for example `slide`. */
  readonly type: string;
  /** Absolute part name without the leading slash; null for targets outside the package. */
  readonly target: string | null;
}

/**
 * Returns null when the archive is not an Office package. Errors: `corrupt` without a main part, `unsupported` for
 * XLSB.
 */
export function openOfficePackage(archive: ZipArchive, limits: ParseLimits): OfficePackage | null {
  if (!archive.has('[Content_Types].xml') && !archive.has('_rels/.rels')) return null;
  const relationships = [...readRelationships(archive, '', limits).values()];
  const mainPart =
    relationships.find(({ type }) => type === 'officeDocument')?.target ?? guessMainPart(archive);
  if (mainPart === null) {
    if (!archive.has('[Content_Types].xml')) return null;
    throw new ParseFailure('corrupt', 'The file is an Office package without a main document part.');
  }
  if (!archive.has(mainPart)) {
    throw new ParseFailure('corrupt', `The Office file is damaged: its main part ${mainPart} is missing.`);
  }
  if (mainPart.endsWith('.bin')) {
    throw new ParseFailure(
      'unsupported',
      'The file is a binary Excel workbook (XLSB), which is not supported.',
    );
  }
  const reader = openPart(archive, mainPart, limits);
  reader.next();
  return { archive, mainPart, root: reader.name };
}

function guessMainPart(archive: ZipArchive): string | null {
  const usual = ['word/document.xml', 'ppt/presentation.xml', 'xl/workbook.xml'];
  return usual.find((name) => archive.has(name)) ?? null;
}

/** Opens a reader on a part. Errors: `corrupt` when the part does not exist. */
export function openPart(archive: ZipArchive, name: string, limits: ParseLimits): XmlReader {
  return new XmlReader(readPart(archive, name), name, limits.xmlDepthMax);
}

/** Returns the bytes of a part. Errors: `corrupt` when the part does not exist. */
export function readPart(archive: ZipArchive, name: string): Uint8Array {
  const bytes = archive.read(name);
  if (bytes === null) throw new ParseFailure('corrupt', `The file is damaged: part ${name} is missing.`);
  return bytes;
}

/** Returns the relationships of a part by id; for an empty `part`, those of the package. */
export function readRelationships(
  archive: ZipArchive,
  part: string,
  limits: ParseLimits,
): Map<string, Relationship> {
  const slash = part.lastIndexOf('/');
  const folder = part.slice(0, slash + 1);
  const name = `${folder}_rels/${part.slice(slash + 1)}.rels`;
  const found = new Map<string, Relationship>();
  if (!archive.has(name)) return found;
  const reader = openPart(archive, name, limits);
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open' || reader.name !== 'Relationship') continue;
    const target = reader.findAttribute('Target') ?? '';
    const isExternal = reader.findAttribute('TargetMode') === 'External';
    found.set(reader.findAttribute('Id') ?? '', {
      type: (reader.findAttribute('Type') ?? '').split('/').at(-1) ?? '',
      target: isExternal ? null : resolvePart(folder, target),
    });
  }
  return found;
}

/**
 * Resolves a target to a part name: relative to the folder of its source, with `..` confined to the package.
 * Some programs write `\`.
 */
export function resolvePart(folder: string, target: string): string {
  const slashed = target.replaceAll('\\', '/');
  const path = slashed.startsWith('/') ? slashed.slice(1) : folder + slashed;
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '.' && segment !== '') segments.push(segment);
  }
  return segments.join('/');
}

/** Returns the title and language from `docProps/core.xml`. */
export function readCoreProperties(
  archive: ZipArchive,
  limits: ParseLimits,
): { title: string | null; language: string | null } {
  const part = [...readRelationships(archive, '', limits).values()].find(
    ({ type }) => type === 'core-properties',
  )?.target;
  const properties: { title: string | null; language: string | null } = { title: null, language: null };
  if (part === undefined || part === null || !archive.has(part)) return properties;
  const reader = openPart(archive, part, limits);
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open') continue;
    if (reader.name === 'title') properties.title = reader.readText().trim() || null;
    else if (reader.name === 'language') properties.language = reader.readText().trim() || null;
  }
  return properties;
}
