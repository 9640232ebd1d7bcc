/** Builders of OLE compound files. Source of the layout: [MS-CFB]. */

const endOfChain = 0xfffffffe;
const freeSector = 0xffffffff;
const sectorBytes = 512;
const miniSectorBytes = 64;

interface DirectoryEntry {
  readonly name: string;
  readonly type: 1 | 2 | 5;
  readonly content: Uint8Array;
  /** Indexes of the child entries, which become one long branch of the tree. */
  readonly childIndexes: number[];
  next: number;
  start: number;
}

/** Builds a compound file; a path with `/` creates storages. Streams below 4,096 bytes are in the mini stream. */
export function compoundFileOf(streams: Readonly<Record<string, Uint8Array>>): Uint8Array {
  const entries = entriesOf(streams);
  const mini: Uint8Array[] = [];
  const miniTable: number[] = [];
  const sectors: Uint8Array[] = [];
  const table: number[] = [];
  const addChain = (content: Uint8Array): number => {
    const first = sectors.length;
    for (let at = 0; at < content.length; at += sectorBytes) {
      sectors.push(padded(content.subarray(at, at + sectorBytes), sectorBytes));
      table.push(at + sectorBytes < content.length ? sectors.length : endOfChain);
    }
    return content.length === 0 ? endOfChain : first;
  };
  for (const entry of entries) {
    if (entry.type !== 2) continue;
    if (entry.content.length >= 4_096) entry.start = addChain(entry.content);
    else entry.start = addMini(entry.content, mini, miniTable);
  }
  const miniStream = Buffer.concat(mini);
  entries[0]!.start = addChain(miniStream);
  const miniTableStart = addChain(uint32Bytes(miniTable));
  const directoryStart = addChain(directoryOf(entries, miniStream.length));
  const tableStart = sectors.length;
  const tableSectors = Math.ceil((tableStart + 8) / 127);
  for (let i = 0; i < tableSectors; i++) table.push(0xfffffffd);
  const tableBytes = padded(uint32Bytes(table), tableSectors * sectorBytes, 0xff);
  const head = headerOf({ tableStart, tableSectors, directoryStart, miniTableStart });
  return Buffer.concat([head, ...sectors, tableBytes]);
}

/** Builds a compound file with empty streams of these names. */
export function compoundFile(names: readonly string[]): Uint8Array {
  return compoundFileOf(Object.fromEntries(names.map((name) => [name, new Uint8Array()])));
}

function entriesOf(streams: Readonly<Record<string, Uint8Array>>): DirectoryEntry[] {
  const make = (name: string, type: 1 | 2 | 5, content: Uint8Array): DirectoryEntry => ({
    name,
    type,
    content,
    childIndexes: [],
    next: freeSector,
    start: endOfChain,
  });
  const entries = [make('Root Entry', 5, new Uint8Array())];
  const folders = new Map([['', 0]]);
  const add = (path: string, type: 1 | 2, content: Uint8Array): void => {
    const slash = path.lastIndexOf('/');
    const folder = path.slice(0, Math.max(0, slash));
    if (!folders.has(folder)) add(folder, 1, new Uint8Array());
    entries[folders.get(folder)!]!.childIndexes.push(entries.length);
    if (type === 1) folders.set(path, entries.length);
    entries.push(make(path.slice(slash + 1), type, content));
  };
  for (const [path, content] of Object.entries(streams)) add(path, 2, content);
  for (const { childIndexes } of entries) {
    childIndexes.forEach((index, i) => {
      entries[index]!.next = childIndexes[i + 1] ?? freeSector;
    });
  }
  return entries;
}

function addMini(content: Uint8Array, mini: Uint8Array[], table: number[]): number {
  const first = table.length;
  for (let at = 0; at < content.length; at += miniSectorBytes) {
    mini.push(padded(content.subarray(at, at + miniSectorBytes), miniSectorBytes));
    table.push(at + miniSectorBytes < content.length ? table.length + 1 : endOfChain);
  }
  return content.length === 0 ? endOfChain : first;
}

function directoryOf(entries: readonly DirectoryEntry[], miniStreamBytes: number): Uint8Array {
  const bytes = Buffer.alloc(Math.ceil(entries.length / 4) * sectorBytes);
  entries.forEach((entry, i) => {
    const at = i * 128;
    bytes.write(entry.name, at, 'utf16le');
    bytes.writeUInt16LE((entry.name.length + 1) * 2, at + 64);
    bytes.writeUInt8(entry.type, at + 66);
    bytes.writeUInt32LE(freeSector, at + 68);
    bytes.writeUInt32LE(entry.next, at + 72);
    bytes.writeUInt32LE(entry.childIndexes[0] ?? freeSector, at + 76);
    bytes.writeUInt32LE(entry.start, at + 116);
    bytes.writeUInt32LE(entry.type === 5 ? miniStreamBytes : entry.content.length, at + 120);
  });
  return bytes;
}

function headerOf(starts: {
  readonly tableStart: number;
  readonly tableSectors: number;
  readonly directoryStart: number;
  readonly miniTableStart: number;
}): Uint8Array {
  const head = Buffer.alloc(sectorBytes);
  head.set([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
  head.writeUInt16LE(3, 26);
  head.writeUInt16LE(0xfffe, 28);
  head.writeUInt16LE(9, 30);
  head.writeUInt16LE(6, 32);
  head.writeUInt32LE(starts.tableSectors, 44);
  head.writeUInt32LE(starts.directoryStart, 48);
  head.writeUInt32LE(4_096, 56);
  head.writeUInt32LE(starts.miniTableStart, 60);
  head.writeUInt32LE(endOfChain, 68);
  for (let i = 0; i < 109; i++) {
    head.writeUInt32LE(i < starts.tableSectors ? starts.tableStart + i : freeSector, 76 + i * 4);
  }
  return head;
}

function uint32Bytes(values: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => {
    bytes.writeUInt32LE(value, i * 4);
  });
  return bytes;
}

function padded(bytes: Uint8Array, length: number, fill = 0): Uint8Array {
  const whole = Buffer.alloc(length, fill);
  whole.set(bytes);
  return whole;
}
