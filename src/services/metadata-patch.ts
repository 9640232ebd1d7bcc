import { checkMetadata } from '../schemas/checks.ts';
import type { MetadataPatch } from '../schemas/document-changes.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import { type CollectionAccess, checkWriteAccess } from './document-access.ts';

type Metadata = DocumentRecord['metadata'];

/** Applies a JSON merge patch (RFC 7396) to metadata, whose values are strings and lists. */
export function applyMetadataPatch(metadata: Metadata, patch: MetadataPatch): Metadata {
  // Entries, because an assignment to `__proto__` adds no attribute.
  const merged = new Map(Object.entries(metadata));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

/** Whether two metadata have the same attributes, in any order. */
export function areEqualMetadata(one: Metadata, other: Metadata): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && areEqualValues(one[name]!, other[name]!))
  );
}

function areEqualValues(one: string | readonly string[], other: string | readonly string[]): boolean {
  if (typeof one === 'string' || typeof other === 'string') return one === other;
  return one.length === other.length && one.every((text, i) => text === other[i]);
}

/**
 * Returns the metadata of a document after a patch. Errors: 400 for invalid or too large metadata, 403 if the caller
 * could not read the document afterwards.
 */
export function patchMetadata(
  access: CollectionAccess,
  { metadata }: DocumentRecord,
  patch: MetadataPatch,
  bytesMax: number,
): Metadata {
  const patched = applyMetadataPatch(metadata, patch);
  checkMetadata(patched, bytesMax);
  checkWriteAccess(access, patched);
  return patched;
}
