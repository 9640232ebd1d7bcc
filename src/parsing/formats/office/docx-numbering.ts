import type { ParseLimits } from '../../limits.ts';
import type { ZipArchive } from '../../zip.ts';
import { type ListLevel, ListNumbering, listLevelsMax } from './list-numbering.ts';
import { openPart } from './office-package.ts';

/**
 * Reads the lists defined in `numbering.xml`; without that part, nothing is numbered. Source: ECMA-376 part
 * 1, section 17.9.
 */
export function readDocxNumbering(
  archive: ZipArchive,
  part: string | null,
  limits: ParseLimits,
): ListNumbering {
  const numbering = new ListNumbering();
  if (part === null || !archive.has(part)) return numbering;
  const reader = openPart(archive, part, limits);
  let [definition, list, at] = ['', '', 0];
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open') continue;
    const value = reader.findAttribute('val') ?? '';
    if (reader.name === 'abstractNum') {
      definition = reader.findAttribute('abstractNumId') ?? '';
      numbering.addDefinition(definition);
    } else if (reader.name === 'num') list = reader.findAttribute('numId') ?? '';
    else if (reader.name === 'abstractNumId') numbering.addList(list, value);
    else if (reader.name === 'lvl' || reader.name === 'lvlOverride') {
      at = parseLevelNumber(reader.findAttribute('ilvl'));
      if (reader.name === 'lvl' && list === '') numbering.getLevel(definition, at);
    } else if (reader.name === 'startOverride') numbering.restart(list, at, Number(value) || 0);
    else if (list === '') setLevelProperty(numbering.getLevel(definition, at), reader.name, value);
  }
  return numbering;
}

function setLevelProperty(level: ListLevel, name: string, value: string): void {
  if (name === 'start') level.start = Number(value) || 0;
  else if (name === 'numFmt') level.format = value;
  else if (name === 'lvlText') level.text = value;
}

/** Returns a zero-based level; 0 for an invalid value or a level beyond the ninth. */
export function parseLevelNumber(value: string | null): number {
  const level = Math.trunc(Number(value ?? '0'));
  return level >= 0 && level < listLevelsMax ? level : 0;
}
