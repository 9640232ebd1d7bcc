import type { DocumentMetadataJson } from '../../../src/schemas/wire.ts';

/** Formats a value of metadata as text. */
export function formatMetadataValue(value: DocumentMetadataJson[string]): string {
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'object' ? `${value.lat}, ${value.lon}` : String(value);
}
