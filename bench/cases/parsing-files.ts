import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';

/** Expected outcome of a file according to a manifest. */
export type ExpectedOutcome = 'text' | 'refused or opened' | 'refused or repaired' | 'unknown';

/** A document to parse. */
export interface DocumentFile {
  /** Path relative to the folder. */
  readonly name: string;
  readonly file: string;
  readonly bytes: number;
  /** Extension in lower case without the dot, unless the manifest specifies another type. */
  readonly type: string;
  /** Kind from the manifest: normal, encrypted, broken, huge; empty without a manifest. */
  readonly kind: string;
  readonly wanted: ExpectedOutcome;
  /** Reference text of the document, or null. */
  readonly expected: string | null;
}

const expectedOutcomes: Readonly<Record<string, ExpectedOutcome>> = {
  normal: 'text',
  huge: 'text',
  encrypted: 'refused or opened',
  broken: 'refused or repaired',
};

/**
 * Returns the documents of a folder: those in its `manifest.csv` (columns `file`, `type`, `kind` and
 * `expected`, the path of a text), or without a manifest every file below it. Errors: rejects if there are
 * none.
 */
export async function listDocumentFiles(folder: string): Promise<DocumentFile[]> {
  const rows = await readManifest(join(folder, 'manifest.csv'));
  const names = rows?.map(({ file = '' }) => file) ?? (await listFilesBelow(folder));
  const files: DocumentFile[] = [];
  for (const [i, name] of names.entries()) {
    const row = rows?.[i] ?? {};
    const file = join(folder, name);
    const expected = row.expected ? await readFile(join(folder, row.expected), 'utf8') : null;
    files.push({
      name,
      file,
      bytes: (await stat(file)).size,
      kind: row.kind ?? '',
      type: row.type ? row.type : extname(name).slice(1).toLowerCase(),
      wanted: expectedOutcomes[row.kind ?? ''] ?? 'unknown',
      expected,
    });
  }
  if (files.length === 0) throw new Error(`${folder} contains no documents.`);
  return files;
}

async function listFilesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.replace(/\/+$/, '').length + 1));
  return names.toSorted();
}

async function readManifest(file: string): Promise<Record<string, string>[] | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const [names = [], ...rows] = parseCsv(text);
  return rows.map((fields) => Object.fromEntries(names.map((name, i) => [name, fields[i] ?? ''])));
}

/** Parses CSV records; a quoted field may contain commas, line breaks and doubled quotes. */
function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  let fields: string[] = [];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    fields.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === ',') continue;
    if (fields.length > 1 || fields[0] !== '') records.push(fields);
    fields = [];
  }
  return records;
}
