import { assert } from '../../src/core/assert.ts';

/** First unit of a block; src/text/terms.ts describes the format. */
const termBlockMagic = 0x31425451;
export interface TermBlockEntry {
  readonly hash: bigint;
  readonly bodyCount: number;
  readonly prefixCount: number;
}

/**
 * Reads and validates the rows of a block; for tests, tools and the slow path. Throws if the bytes are not a
 * TermBlock.
 */
export function readTermBlock(block: Uint8Array): TermBlockEntry[][] {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  assert(
    block.byteLength >= 8 && view.getUint32(0, true) === termBlockMagic,
    'a term block starts with QTB1',
  );
  const rowCount = view.getUint32(4, true);
  let offset = 8 + rowCount * 4 + (rowCount % 2) * 4;
  assert(offset <= block.byteLength, 'a term block holds its sizes');
  const rows: TermBlockEntry[][] = [];
  for (let row = 0; row < rowCount; row += 1) {
    const size = view.getUint32(8 + row * 4, true);
    assert(offset + size * 16 <= block.byteLength, 'a term block holds its entries');
    const entries: TermBlockEntry[] = [];
    for (const end = offset + size * 16; offset < end; offset += 16) {
      entries.push({
        hash: view.getBigUint64(offset, true),
        bodyCount: view.getUint16(offset + 8, true),
        prefixCount: view.getUint16(offset + 10, true),
      });
    }
    rows.push(entries);
  }
  assert(offset === block.byteLength, 'a term block ends with its last entry');
  return rows;
}
