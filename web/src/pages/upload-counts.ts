import type { UploadState } from './uploads.ts';

/** Numbers of uploaded files by state. */
export interface UploadCounts {
  /** Files that wait or are being sent. */
  readonly pending: number;
  readonly stored: number;
  /** Of the stored files: those that are being parsed or indexed, can be found, and could not be indexed. */
  readonly indexing: number;
  readonly searchable: number;
  readonly notIndexed: number;
  readonly failed: number;
  readonly tooLarge: number;
  readonly existing: number;
}

const countOfState = {
  waiting: 'pending',
  sending: 'pending',
  stored: 'stored',
  exists: 'existing',
  failed: 'failed',
  canceled: null,
  'too-large': 'tooLarge',
} as const satisfies Record<UploadState['name'], keyof UploadCounts | null>;

/** Counts the given uploads only, not other documents of their collection. */
export function countUploads(all: readonly { readonly state: UploadState }[]): UploadCounts {
  const counts = {
    pending: 0,
    stored: 0,
    indexing: 0,
    searchable: 0,
    notIndexed: 0,
    failed: 0,
    tooLarge: 0,
    existing: 0,
  };
  for (const { state } of all) {
    const name = countOfState[state.name];
    if (name !== null) counts[name] += 1;
    if (state.name !== 'stored' || state.document === 'deleted') continue;
    switch (state.document?.index_status) {
      case 'indexed':
        counts.searchable += 1;
        break;
      case 'parsing_failed':
      case 'indexing_failed':
        counts.notIndexed += 1;
        break;
      default:
        counts.indexing += 1;
    }
  }
  return counts;
}
