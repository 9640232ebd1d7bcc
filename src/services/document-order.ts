import { AppError } from '../core/app-error.ts';
import { compareStrings } from '../core/compare-strings.ts';
import type { DocumentSortField } from '../core/document-sort-fields.ts';
import { indexStatuses } from '../schemas/documents.ts';
import { compareSortValues, type SortValue, sortValueOf } from '../search/metadata-order.ts';
import type { SortField } from '../search/sort.ts';
import type { DocumentRecord } from '../storage/documents.ts';

/** Place in a sorted list: the sort keys of a document and its path. */
export interface Position {
  readonly keys: readonly SortValue[];
  readonly path: string;
}

/** Order of a list; equal sort keys are ordered by the UTF-8 bytes of the paths. */
export interface DocumentOrder {
  /** Whether it is the order in which documents are stored. */
  readonly isPathOrder: boolean;
  positionOf(record: DocumentRecord): Position;
  compare(one: Position, other: Position): number;
  encodeCursor(position: Position): string;
  /** Errors: 400 for a cursor that no reply with this order contained. */
  decodeCursor(cursor: string): Position;
}

/** Sort key of a document. Documents without pages come first. */
const sortKeys: Readonly<Record<DocumentSortField, (record: DocumentRecord) => number>> = {
  path: () => 0,
  created_at: ({ createdAt }) => createdAt,
  size: ({ size }) => size,
  num_pages: ({ numPages }) => numPages ?? -1,
  index_status: ({ status }) => indexStatuses.indexOf(status),
};

/** Order by a property of the documents. */
export class PropertyOrder implements DocumentOrder {
  readonly isPathOrder: boolean;
  readonly #keyOf: (record: DocumentRecord) => number;
  readonly #sign: 1 | -1;

  constructor(field: DocumentSortField, isDescending: boolean) {
    this.isPathOrder = field === 'path' && !isDescending;
    this.#keyOf = sortKeys[field];
    this.#sign = isDescending ? -1 : 1;
  }

  positionOf(record: DocumentRecord): Position {
    return { keys: [this.#keyOf(record)], path: record.path };
  }

  compare(one: Position, other: Position): number {
    const byKey = Number(one.keys[0]) - Number(other.keys[0]);
    return this.#sign * (byKey === 0 ? compareStrings(one.path, other.path) : byKey);
  }

  encodeCursor({ keys, path }: Position): string {
    return encode([keys[0], path]);
  }

  decodeCursor(cursor: string): Position {
    const position = decode(cursor);
    if (Array.isArray(position) && Number.isFinite(position[0]) && typeof position[1] === 'string')
      return { keys: [position[0]], path: position[1] };
    return rejectCursor();
  }
}

/** Order by metadata. */
export class MetadataOrder implements DocumentOrder {
  readonly isPathOrder = false;
  readonly #fields: readonly SortField[];

  constructor(fields: readonly SortField[]) {
    this.#fields = fields;
  }

  positionOf({ metadata, path }: DocumentRecord): Position {
    return { keys: this.#fields.map((field) => sortValueOf(metadata, field)), path };
  }

  compare(one: Position, other: Position): number {
    for (const [i, { isDescending }] of this.#fields.entries()) {
      const order = compareSortValues(one.keys[i]!, other.keys[i]!, isDescending);
      if (order !== 0) return order;
    }
    return compareStrings(one.path, other.path);
  }

  encodeCursor({ keys, path }: Position): string {
    return encode([keys, path]);
  }

  decodeCursor(cursor: string): Position {
    const position = decode(cursor);
    if (!Array.isArray(position) || typeof position[1] !== 'string') return rejectCursor();
    const [keys, path] = position as [unknown, string];
    if (!Array.isArray(keys) || keys.length !== this.#fields.length) return rejectCursor();
    return { keys: keys.map((key, i) => toSortValue(key, this.#fields[i]!)), path };
  }
}

function toSortValue(key: unknown, { isDate }: SortField): SortValue {
  if (key === null) return null;
  if (!isDate && (typeof key === 'string' || typeof key === 'number' || typeof key === 'boolean')) return key;
  if (!isDate || typeof key !== 'object') return rejectCursor();
  const { seconds, nanoseconds } = key as Record<string, unknown>;
  if (typeof seconds !== 'number' || typeof nanoseconds !== 'number') return rejectCursor();
  return { seconds, nanoseconds };
}

function encode(position: unknown): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** Returns undefined for a text that is not an encoded position. */
function decode(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function rejectCursor(): never {
  throw new AppError('bad_request', 'cursor is invalid; send the next_cursor of the previous page.');
}
