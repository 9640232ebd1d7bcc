import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AppError } from '../../core/app-error.ts';
import type { DocumentMetadataJson } from '../../schemas/wire.ts';
import { hashFile } from '../upload.ts';
import { findFiles, type LocalFile } from '../walk.ts';
import type { ImportItem, ImportSource, SkippedItem } from './import-source.ts';
import { readMetadataTable, type TableRow } from './metadata-table.ts';
import type { FieldMapping } from './row-fields.ts';

export interface FolderSourceOptions {
  readonly folder: string;
  /** CSV or JSON lines with the metadata of the files; null for none. */
  readonly table: string | null;
  readonly mapping: FieldMapping;
}

/** The files of a folder. Their paths in the folder are the paths of the documents and of the rows of the table. */
export async function openFolderSource({
  folder,
  table,
  mapping,
}: FolderSourceOptions): Promise<ImportSource> {
  const stats = await stat(folder).catch((cause: unknown) => {
    throw new AppError('bad_request', `${folder} cannot be read: ${(cause as Error).message}.`, { cause });
  });
  if (!stats.isDirectory()) throw new AppError('bad_request', `${folder} is not a folder.`);
  const found = await findFiles({ paths: [folder], hidden: false, prefix: '' });
  const rows = table === null ? [] : await readMetadataTable(table, mapping);
  const tablePath = table === null ? null : resolve(table);
  const files = found.files
    .filter(({ absolute }) => absolute !== tablePath)
    .sort((one, other) => Buffer.compare(Buffer.from(one.path), Buffer.from(other.path)));
  return {
    total: files.length,
    isSorted: true,
    settings: null,
    async *items(skip) {
      for (const { path, reason } of found.unreadable) skip({ origin: 'the folder', path, reason });
      const metadata = assignMetadata(rows, files, skip);
      for (const file of files) yield await toItem(file, metadata.get(file.path) ?? {});
    },
  };
}

/** Returns the metadata by path of a file. Rows without a file and repeated rows are skipped. */
function assignMetadata(
  rows: readonly TableRow[],
  files: readonly LocalFile[],
  skip: (item: SkippedItem) => void,
): ReadonlyMap<string, DocumentMetadataJson> {
  const paths = new Set(files.map(({ path }) => path));
  const metadata = new Map<string, DocumentMetadataJson>();
  for (const { origin, path, metadata: values } of rows) {
    if (path === null) skip({ origin, path, reason: 'the row has no path' });
    else if (!paths.has(path)) skip({ origin, path, reason: 'the folder has no file with this path' });
    else if (metadata.has(path)) skip({ origin, path, reason: 'an earlier row has the same path' });
    else metadata.set(path, values);
  }
  return metadata;
}

async function toItem(
  { absolute, path, sizeBytes }: LocalFile,
  metadata: DocumentMetadataJson,
): Promise<ImportItem> {
  const document = { path, metadata, content: { type: 'auto' } };
  return {
    origin: absolute,
    path,
    document,
    sha256: await hashFile(absolute),
    file: { size: sizeBytes, read: () => createReadStream(absolute) },
    units: JSON.stringify(document).length,
  };
}
