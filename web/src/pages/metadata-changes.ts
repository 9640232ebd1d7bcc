import type { DocumentRow } from '../server/retrieval.ts';
import { texts } from '../texts/en/document.ts';

/** Changes of some metadata fields of many documents. */

type Metadata = DocumentRow['metadata'];

export interface MetadataChange {
  readonly kind: 'set' | 'remove';
  readonly name: string;
  /** Items of a field that starts with `list:` are separated by commas. */
  readonly value: string;
}

/** Reason why the changes cannot be applied; null if they can. */
export function findChangeError(changes: readonly MetadataChange[]): string | null {
  const names = changes.map(({ name }) => name);
  if (names.some((name) => !/^(list:)?[A-Za-z0-9_-]+$/.test(name))) return texts.namesConsistOfLettersDigits;
  if (new Set(names).size < names.length) return texts.eachFieldCanBeChanged;
  return null;
}

/** Returns the metadata after the changes; the same object if nothing changes. */
export function applyChanges(metadata: Metadata, changes: readonly MetadataChange[]): Metadata {
  const fields = new Map(Object.entries(metadata));
  for (const { kind, name, value } of changes)
    if (kind === 'remove') fields.delete(name);
    else fields.set(name, name.startsWith('list:') ? toItems(value) : value);
  const changed = Object.fromEntries(fields);
  const isSame =
    fields.size === Object.keys(metadata).length &&
    Object.entries(changed).every(
      ([name, value]) => JSON.stringify(value) === JSON.stringify(metadata[name]),
    );
  return isSame ? metadata : changed;
}

function toItems(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
