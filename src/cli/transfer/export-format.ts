import { createHash } from 'node:crypto';
import type { CollectionInfo } from '../../schemas/collections.ts';
import type { ExportedDocument } from '../../schemas/exports.ts';

/** Version of the format, see docs/reference/export-format.md. */
export const exportFormat = 1;

/** A line of an export. The raw bytes of a file and a line feed follow its line. */
export type ExportLine =
  | { readonly type: 'export'; readonly format: number; readonly collection: CollectionInfo }
  | {
      readonly type: 'document';
      /** Whether the line of its file follows. */
      readonly has_file: boolean;
      readonly document: Omit<ExportedDocument, 'file_url'>;
    }
  | { readonly type: 'file'; readonly sha256: string; readonly size: number }
  /** `sha256`: of all bytes between the previous checkpoint and this line. */
  | { readonly type: 'checkpoint'; readonly documents: number; readonly sha256: string }
  /** `sha256`: the last value of `chainDigest`. */
  | {
      readonly type: 'end';
      readonly documents: number;
      readonly files: number;
      readonly sha256: string;
    };

/** Digest of all checkpoints: SHA-256 of its previous value, empty at first, followed by that of the checkpoint. */
export function chainDigest(previous: string, checkpoint: string): string {
  return createHash('sha256').update(`${previous}${checkpoint}`).digest('hex');
}
