import { isDeepStrictEqual } from 'node:util';
import type { GeoPoint } from '../core/geo.ts';
import { checkMetadata } from '../schemas/checks.ts';
import type { MetadataPatch } from '../schemas/document-changes.ts';
import { checkMetadataTypes } from '../schemas/metadata-schema.ts';
import type { DocumentMetadataJson } from '../schemas/wire.ts';
import type { DocumentRecord } from '../storage/documents.ts';
import { type CollectionAccess, checkWriteAccess } from './document-access.ts';

type Metadata = DocumentRecord['metadata'];

/**
 * Applies a JSON merge patch (RFC 7396) to metadata. A point may lack a coordinate afterwards, which `checkMetadata`
 * rejects.
 */
export function applyMetadataPatch(metadata: Metadata, patch: MetadataPatch): Metadata {
  // Entries, because an assignment to `__proto__` adds no attribute.
  const merged = new Map(Object.entries(metadata));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, isPoint(value) ? mergePoint(merged.get(name), value) : value);
  }
  return Object.fromEntries(merged);
}

type PatchValue = MetadataPatch[string];
type PointPatch = Exclude<Extract<PatchValue, object>, string[]>;

function isPoint(value: PatchValue): value is PointPatch {
  return typeof value === 'object' && !Array.isArray(value);
}

function mergePoint(known: Metadata[string] | undefined, patch: PointPatch): GeoPoint {
  const merged = { ...(typeof known === 'object' && !Array.isArray(known) ? known : {}), ...patch };
  return Object.fromEntries(
    Object.entries(merged).filter(([, each]) => each !== null),
  ) as unknown as GeoPoint;
}

/** Whether two metadata have the same attributes, in any order. */
export function areEqualMetadata(one: Metadata, other: Metadata): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && areEqualValues(one[name]!, other[name]!))
  );
}

function areEqualValues(one: Metadata[string], other: Metadata[string]): boolean {
  return one === other || (typeof one === 'object' && isDeepStrictEqual(one, other));
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
  checkMetadata(patched as DocumentMetadataJson, bytesMax);
  // Only the fields of the patch are checked: a value that is older than the schema may remain.
  checkMetadataTypes(
    access.collection.metadataSchema,
    Object.fromEntries(
      Object.keys(patch).flatMap((name) => (Object.hasOwn(patched, name) ? [[name, patched[name]!]] : [])),
    ),
  );
  checkWriteAccess(access, patched);
  return patched;
}
