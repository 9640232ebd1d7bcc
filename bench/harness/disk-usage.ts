import type { FileHandle } from 'node:fs/promises';
import { open, readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { silentLogger } from '../../src/core/logger.ts';
import { parts } from '../../src/storage/content-table.ts';
import { tables } from '../../src/storage/keys.ts';
import { RocksStore } from '../../src/storage/rocks-store.ts';

/** Bytes by kind. */
export type BytesByKind = ReadonlyMap<string, number>;

/** Sections of a snapshot, in the order of native/FORMAT.md. */
const sections = [
  'documents',
  'rows',
  'levels',
  'vectors',
  'codes',
  'links',
  'upper links',
  'attributes',
  'postings',
] as const;
const sectionsAt = 64;
const sectionBytes = 24;
const headerBytes = 288;

/** Returns the bytes of the files of a data directory whose server is stopped, by kind. */
export async function fileBytes(data: string): Promise<BytesByKind> {
  const bytes = new Map<string, number>();
  for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { size } = await stat(path);
    if (entry.name.endsWith('.quarry')) await addSections(bytes, path, size);
    else add(bytes, kindOf(relative(data, path)), size);
  }
  return bytes;
}

function kindOf(path: string): string {
  const folder = path.split('/')[0]!;
  if (folder !== 'store') return ['blobs', 'cache', 'index'].includes(folder) ? folder : 'other files';
  if (path.endsWith('.sst')) return 'store: tables';
  return path.endsWith('.log') ? 'store: log' : 'store: other files';
}

async function addSections(bytes: Map<string, number>, path: string, size: number): Promise<void> {
  const file = await open(path, 'r');
  try {
    const header = await readHeader(file);
    let rest = size;
    for (const [i, name] of sections.entries()) {
      const length = Number(header.readBigUInt64LE(sectionsAt + i * sectionBytes + 8));
      add(bytes, `snapshot: ${name}`, length);
      rest -= length;
    }
    add(bytes, 'snapshot: header and padding', rest);
  } finally {
    await file.close();
  }
}

async function readHeader(file: FileHandle): Promise<Buffer> {
  const header = Buffer.alloc(headerBytes);
  const { bytesRead } = await file.read(header, 0, headerBytes, 0);
  if (bytesRead < headerBytes) throw new Error('a snapshot is shorter than its header');
  return header;
}

const nameOfTable = new Map<number, string>(Object.entries(tables).map(([name, byte]) => [byte, name]));
const nameOfPart = new Map<number, string>(Object.entries(parts).map(([name, part]) => [part, name]));
/** Offset of the part in a key of the table `content`: after the table and the document ID. */
const partAt = 17;

/**
 * Returns the bytes of keys and values of the live entries by table, and by part for the content of documents. Opens the
 * store, which turns its log into tables.
 */
export async function entryBytes(data: string): Promise<BytesByKind> {
  const store = await RocksStore.open({ location: join(data, 'store'), logger: silentLogger });
  try {
    const bytes = new Map<string, number>();
    for await (const { key, value } of store.range({})) {
      const table = nameOfTable.get(key[0]!) ?? `table ${key[0]}`;
      const part = key[0] === tables.content ? `: ${nameOfPart.get(key[partAt]!) ?? key[partAt]}` : '';
      add(bytes, `${table}${part}`, key.byteLength + value.byteLength);
    }
    return bytes;
  } finally {
    await store.close();
  }
}

function add(bytes: Map<string, number>, kind: string, count: number): void {
  bytes.set(kind, (bytes.get(kind) ?? 0) + count);
}
