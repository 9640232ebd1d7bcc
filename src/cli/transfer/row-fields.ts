import { createHash } from 'node:crypto';
import { AppError } from '../../core/app-error.ts';
import { isObject } from '../../core/is-object.ts';
import type { DocumentMetadataJson } from '../../schemas/wire.ts';

export type ImportRow = Readonly<Record<string, unknown>>;

/** Names of the fields of rows that are read instead of the usual ones: `{"path": "url", "content": "body"}`. */
export type FieldMapping = Readonly<Record<string, string>>;

/** Checks a mapping. Errors: 400 unless it is an object of strings. */
export function parseMapping(value: unknown, file: string): FieldMapping {
  if (isObject(value) && Object.values(value).every((name) => typeof name === 'string'))
    return value as FieldMapping;
  throw new AppError('bad_request', `${file} must be a JSON object whose values are names of fields.`);
}

/** Returns the value of a field, or of the field that the mapping names; `a.b` reads a field of an object. */
export function readField(row: ImportRow, name: string, mapping: FieldMapping): unknown {
  const source = mapping[name] ?? name;
  if (Object.hasOwn(row, source)) return row[source];
  let value: unknown = row;
  for (const part of source.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as ImportRow)[part];
  }
  return value;
}

/** Same for a text; undefined for another type and for an empty text. */
export function readText(row: ImportRow, name: string, mapping: FieldMapping): string | undefined {
  const value = readField(row, name, mapping);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Converts values to metadata: numbers and booleans to text, lists to `list:` names, fields of objects to `outer_inner`.
 * Characters that names cannot have become `_`. Null and empty values are left out. `keepsTypes`: numbers, booleans
 * and points stay as they are.
 */
export function toMetadata(
  values: ImportRow,
  { keepsTypes = false }: { readonly keepsTypes?: boolean } = {},
): DocumentMetadataJson {
  const metadata: DocumentMetadataJson = {};
  const add = (name: string, value: unknown): void => {
    if (value === null || value === undefined || value === '') return;
    if (keepsTypes && isTyped(value)) {
      metadata[cleanName(name)] = value;
      return;
    }
    if (Array.isArray(value)) {
      const texts = value.filter((item) => item !== null && typeof item !== 'object').map(String);
      if (texts.length > 0) metadata[`list:${cleanName(name.replace(/^list:/, ''))}`] = texts;
    } else if (typeof value === 'object') {
      for (const [inner, item] of Object.entries(value)) add(`${name}_${inner}`, item);
    } else metadata[cleanName(name)] = String(value);
  };
  for (const [name, value] of Object.entries(values)) add(name, value);
  return metadata;
}

/** Whether the value is a number, a boolean or a point. */
function isTyped(value: unknown): value is number | boolean | { lat: number; lon: number } {
  if (typeof value === 'number' || typeof value === 'boolean') return true;
  if (typeof value !== 'object' || value === null) return false;
  const { lat, lon, ...others } = value as Record<string, unknown>;
  return typeof lat === 'number' && typeof lon === 'number' && Object.keys(others).length === 0;
}

function cleanName(name: string): string {
  return name.replace(/[^\w-]/g, '_');
}

/** SHA-256 of a text document with these pages, as the server computes it. */
export function hashPages(pages: readonly string[]): string {
  return createHash('sha256').update(pages.join('\n\n').toWellFormed(), 'utf8').digest('hex');
}
