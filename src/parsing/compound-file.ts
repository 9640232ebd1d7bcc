/** The directory of an OLE compound file: enough to tell which program wrote it. Source: [MS-CFB]. */

const endOfChain = 0xfffffffe;
const entryBytes = 128;
/** Directory sectors that are read; a chain longer than this is a loop or of no interest. */
const sectorsMax = 4_096;

export const compoundFileMagic = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1] as const;

/** Names of all streams and storages; what lies behind a broken pointer is missing. */
export function compoundFileNames(bytes: Uint8Array): string[] {
  if (bytes.length < 512) return [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const shift = view.getUint16(30, true);
  if (shift !== 9 && shift !== 12) return [];
  const sectorBytes = 2 ** shift;
  const names: string[] = [];
  let sector = view.getUint32(48, true);
  for (let seen = 0; seen < sectorsMax && sector < endOfChain; seen++) {
    const start = (sector + 1) * sectorBytes;
    if (start + sectorBytes > bytes.length) break;
    for (let offset = start; offset < start + sectorBytes; offset += entryBytes) {
      const name = entryName(view, offset);
      if (name !== null) names.push(name);
    }
    sector = nextSector(view, sector, sectorBytes);
  }
  return names;
}

function entryName(view: DataView, offset: number): string | null {
  const length = view.getUint16(offset + 64, true);
  if (length < 2 || length > 64 || view.getUint8(offset + 66) === 0) return null;
  let name = '';
  for (let i = 0; i < length - 2; i += 2) name += String.fromCharCode(view.getUint16(offset + i, true));
  return name;
}

/** Follows the allocation table through the 109 entries of the header, which cover 6.8 MiB or more of file. */
function nextSector(view: DataView, sector: number, sectorBytes: number): number {
  const perSector = sectorBytes / 4;
  const table = Math.floor(sector / perSector);
  if (table >= 109) return endOfChain;
  const offset = (view.getUint32(76 + table * 4, true) + 1) * sectorBytes + (sector % perSector) * 4;
  return offset + 4 <= view.byteLength ? view.getUint32(offset, true) : endOfChain;
}
