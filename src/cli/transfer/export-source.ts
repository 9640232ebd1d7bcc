import { hasFailed } from '../document-list.ts';
import { type ExportEntry, ExportReader, verifyExport } from './export-reader.ts';
import type { ImportItem, ImportSource } from './import-source.ts';

/**
 * Opens an export after its checksums were checked. Errors: 400 for a file that is not an export, or is damaged or
 * incomplete.
 */
export async function openExportSource(file: string): Promise<ImportSource> {
  const { collection, documents } = await verifyExport(file);
  return {
    total: documents,
    isSorted: true,
    settings: collection,
    async *items() {
      let number = 0;
      for await (const entry of new ExportReader(file).entries()) {
        number += 1;
        yield toItem(entry, number);
      }
    },
  };
}

function toItem({ document, file }: ExportEntry, number: number): ImportItem {
  const { path, metadata, content, vector, vectors, sha256, size, expires_at } = document;
  return {
    origin: `document ${number}`,
    path,
    document: {
      path,
      metadata,
      content: content ?? { type: 'auto' },
      expires_at: expires_at ?? null,
      ...(vector === undefined ? {} : { vector }),
      ...(vectors === undefined ? {} : { vectors }),
    },
    sha256,
    mayFail: hasFailed(document),
    file: file === null ? null : { size, read: () => file },
    units: JSON.stringify([content, metadata, vector, vectors]).length,
  };
}
