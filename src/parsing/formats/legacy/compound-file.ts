import { ParseFailure } from '../../parse-failure.ts';

/** OLE compound files, the container of DOC, XLS, PPT and MSG. Source: [MS-CFB]. */

export const compoundFileSignature = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1] as const;

const sectorMax = 0xfffffffa;
const noSector = 0xffffffff;
const entryBytes = 128;
/** Maximum number of directory entries that are read. */
const entriesMax = 100_000;

interface Entry {
  readonly name: string;
  /** 1: storage, 2: stream, 5: root. */
  readonly type: number;
  readonly left: number;
  readonly right: number;
  readonly child: number;
  readonly start: number;
  readonly size: number;
}

/**
 * A compound file read from memory. The length of every sector chain is bounded, so loops end; data behind a
 * broken pointer is missing, and no size may exceed the file.
 */
export class CompoundFile {
  private readonly bytes: Uint8Array;
  private readonly view: DataView;
  private readonly sectorBytes: number;
  private readonly miniSectorBytes: number;
  private readonly miniStreamMax: number;
  private readonly table: number[];
  private readonly entries: Entry[];
  private readonly byPath = new Map<string, Entry>();
  private miniStream: { readonly table: Uint32Array; readonly content: Uint8Array } | null = null;

  /** Errors: `corrupt` when there is no readable directory. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const shift = bytes.length < 512 ? 0 : this.view.getUint16(30, true);
    if (shift !== 9 && shift !== 12) throw corruptError();
    this.sectorBytes = 2 ** shift;
    this.miniSectorBytes = 2 ** Math.min(12, this.view.getUint16(32, true));
    this.miniStreamMax = this.view.getUint32(56, true);
    this.table = this.readTable();
    this.entries = this.readEntries();
    if (this.entries.length === 0) throw corruptError();
    this.indexPaths();
  }

  /** Returns the names of all streams and storages at any level. */
  listNames(): string[] {
    return this.entries.map(({ name }) => name);
  }

  /** Returns the paths of all streams and storages reachable from the root, with `/` between names. */
  listPaths(): string[] {
    return [...this.byPath.keys()];
  }

  /** Whether a stream or storage at the root has such a name. */
  hasName(name: RegExp): boolean {
    return this.listNames().some((one) => name.test(one));
  }

  /** Whether a stream or storage with this path exists. */
  has(path: string): boolean {
    return this.byPath.has(path);
  }

  /** Returns the available content of a stream, or null when no stream has this path. */
  read(path: string): Uint8Array | null {
    const entry = this.byPath.get(path);
    if (entry === undefined || entry.type !== 2) return null;
    return entry.size < this.miniStreamMax ? this.readMini(entry) : this.readChain(entry.start, entry.size);
  }

  /** Reads the allocation table; its sectors are listed in the header and in a subsequent chain. */
  private readTable(): number[] {
    const table: number[] = [];
    const add = (sector: number) => {
      const start = this.offsetOf(sector);
      if (start === null) return;
      const end = Math.min(start + this.sectorBytes, this.bytes.length - 3);
      for (let at = start; at < end; at += 4) table.push(this.view.getUint32(at, true));
    };
    for (let i = 0; i < 109; i++) add(this.view.getUint32(76 + i * 4, true));
    const perSector = this.sectorBytes / 4;
    const sectorsMax = this.bytes.length / this.sectorBytes;
    let next = this.view.getUint32(68, true);
    for (let step = 0; step < sectorsMax && table.length <= sectorsMax + perSector; step++) {
      const start = this.offsetOf(next);
      if (start === null || start + this.sectorBytes > this.bytes.length) break;
      for (let i = 0; i < perSector - 1; i++) add(this.view.getUint32(start + i * 4, true));
      next = this.view.getUint32(start + this.sectorBytes - 4, true);
    }
    return table;
  }

  private readEntries(): Entry[] {
    const directory = this.readChain(this.view.getUint32(48, true), entriesMax * entryBytes);
    const view = new DataView(directory.buffer, directory.byteOffset, directory.byteLength);
    const entries: Entry[] = [];
    for (let at = 0; at + entryBytes <= directory.length; at += entryBytes) entries.push(readEntry(view, at));
    while (entries.at(-1)?.type === 0) entries.pop();
    return entries;
  }

  /** Walks the tree of siblings and children; an entry reached twice is kept at its first path. */
  private indexPaths(): void {
    const seen = new Set<number>([0]);
    const open: { index: number; folder: string }[] = [
      { index: this.entries[0]?.child ?? noSector, folder: '' },
    ];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { index, folder } = next;
      const entry = this.entries[index];
      if (entry === undefined || entry.type === 0 || seen.has(index)) continue;
      seen.add(index);
      const path = `${folder}${entry.name}`;
      if (!this.byPath.has(path)) this.byPath.set(path, entry);
      if (entry.type === 1 && path.length < 4_096) open.push({ index: entry.child, folder: `${path}/` });
      open.push({ index: entry.right, folder }, { index: entry.left, folder });
    }
  }

  private readMini(entry: Entry): Uint8Array {
    const root = this.entries[0];
    if (root === undefined) return new Uint8Array();
    this.miniStream ??= {
      table: this.toUint32s(this.readChain(this.view.getUint32(60, true), this.bytes.length)),
      content: this.readChain(root.start, root.size),
    };
    const { table, content } = this.miniStream;
    const parts: Uint8Array[] = [];
    let [sector, left] = [entry.start, entry.size];
    for (let step = 0; step <= table.length && left > 0 && sector < sectorMax; step++) {
      const start = sector * this.miniSectorBytes;
      const part = content.subarray(start, start + Math.min(left, this.miniSectorBytes));
      if (part.length === 0) break;
      parts.push(part);
      left -= part.length;
      sector = table[sector] ?? noSector;
    }
    return Buffer.concat(parts);
  }

  private toUint32s(bytes: Uint8Array): Uint32Array {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Uint32Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => view.getUint32(i * 4, true));
  }

  /** Returns up to `size` bytes along a chain of sectors. */
  private readChain(first: number, size: number): Uint8Array {
    const parts: Uint8Array[] = [];
    let [sector, left] = [first, Math.min(size, this.bytes.length)];
    for (let step = 0; step <= this.table.length && left > 0; step++) {
      const start = this.offsetOf(sector);
      if (start === null) break;
      const part = this.bytes.subarray(start, start + Math.min(left, this.sectorBytes));
      parts.push(part);
      left -= part.length;
      sector = this.table[sector] ?? noSector;
    }
    return Buffer.concat(parts);
  }

  private offsetOf(sector: number): number | null {
    const start = (sector + 1) * this.sectorBytes;
    return sector < sectorMax && start < this.bytes.length ? start : null;
  }
}

/** Errors: `encrypted` for an Office file with a password, `corrupt`. */
export function openCompoundFile(bytes: Uint8Array): CompoundFile {
  const file = new CompoundFile(bytes);
  if (file.hasName(/^EncryptedPackage$/)) {
    throw new ParseFailure('encrypted', 'The Office file is encrypted with a password.');
  }
  return file;
}

function readEntry(view: DataView, at: number): Entry {
  const nameBytes = Math.min(64, view.getUint16(at + 64, true));
  let name = '';
  for (let i = 0; i + 2 < nameBytes; i += 2) name += String.fromCharCode(view.getUint16(at + i, true));
  return {
    name,
    type: nameBytes < 2 ? 0 : view.getUint8(at + 66),
    left: view.getUint32(at + 68, true),
    right: view.getUint32(at + 72, true),
    child: view.getUint32(at + 76, true),
    start: view.getUint32(at + 116, true),
    size: view.getUint32(at + 120, true),
  };
}

function corruptError(): ParseFailure {
  return new ParseFailure('corrupt', 'The file is an OLE compound file whose directory is damaged.');
}
