import type { ParseLimits } from '../../limits.ts';
import type { XmlReader } from '../../xml-reader.ts';
import type { ZipArchive } from '../../zip.ts';
import { parseLevelNumber } from './docx-numbering.ts';
import { openPart } from './office-package.ts';

/** Structural properties of a Word paragraph style. Source: ECMA-376 part 1, section 17.7. */
interface DocxStyle {
  /** Heading level 1..9, 0 for the document title, null for running text. */
  level: number | null;
  /** List that numbers the paragraphs of this style, and the list level. */
  list: string | null;
  listLevel: number;
  /** Id of the parent style. */
  basedOn: string | null;
}

export interface DocxStyles {
  readonly byId: ReadonlyMap<string, DocxStyle>;
  /** Language of the document's default style. */
  readonly language: string | null;
}

/** Maximum length of an inheritance chain; longer chains are loops. */
const ancestorsMax = 16;

export function readDocxStyles(archive: ZipArchive, part: string | null, limits: ParseLimits): DocxStyles {
  const byId = new Map<string, DocxStyle>();
  let language: string | null = null;
  if (part === null || !archive.has(part)) return { byId, language };
  const reader = openPart(archive, part, limits);
  let style: DocxStyle | null = null;
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token === 'open' && reader.name === 'style') {
      style = { level: null, list: null, listLevel: 0, basedOn: null };
      byId.set(reader.findAttribute('styleId') ?? '', style);
    } else if (token === 'open' && reader.name === 'lang') language ??= reader.findAttribute('val');
    else if (token === 'open' && style !== null) setStyleProperty(style, reader);
    else if (token === 'close' && reader.name === 'style') style = null;
  }
  for (const one of byId.values()) inheritProperties(one, byId);
  return { byId, language };
}

function setStyleProperty(style: DocxStyle, reader: XmlReader): void {
  const value = reader.findAttribute('val');
  if (reader.name === 'name') style.level = parseHeadingLevel(value ?? '');
  else if (reader.name === 'outlineLvl') style.level ??= parseOutlineLevel(value);
  else if (reader.name === 'basedOn') style.basedOn = value;
  else if (reader.name === 'numId') style.list = value;
  else if (reader.name === 'ilvl') style.listLevel = parseLevelNumber(value);
}

function inheritProperties(style: DocxStyle, byId: ReadonlyMap<string, DocxStyle>): void {
  let ancestor = style.basedOn === null ? undefined : byId.get(style.basedOn);
  for (let steps = 0; ancestor !== undefined && steps < ancestorsMax; steps++) {
    style.level ??= ancestor.level;
    if (style.list === null && ancestor.list !== null) {
      style.list = ancestor.list;
      style.listLevel ||= ancestor.listLevel;
    }
    ancestor = ancestor.basedOn === null ? undefined : byId.get(ancestor.basedOn);
  }
}

function parseHeadingLevel(name: string): number | null {
  const level = /^heading ([1-9])$/i.exec(name)?.[1];
  if (level !== undefined) return Number(level);
  return /^title$/i.test(name) ? 0 : null;
}

/** Returns the heading level 1..9 of an outline level 0..8; null for 9, which means running text. */
export function parseOutlineLevel(value: string | null): number | null {
  const level = Number(value ?? '9');
  return level >= 0 && level <= 8 ? level + 1 : null;
}
