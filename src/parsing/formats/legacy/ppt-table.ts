import { type RecordHeader, readRecords, readUint16, readUint32 } from './ppt-records.ts';

/**
 * Tables in a PowerPoint 97-2003 file: a group of shapes, one per cell. Source: [MS-ODRAW] 2.2.16 and
 * 2.3.4.42.
 */

const type = { shape: 0xf004, childAnchor: 0xf00f, moreProperties: 0xf122 } as const;
const tableProperty = 0x039f;
const propertyBytes = 6;

interface Cell {
  readonly shape: RecordHeader;
  readonly left: number;
  readonly top: number;
}

/** Returns the cell shapes by row, from top to bottom and left to right; null when the group is not a table. */
export function readTableRows(stream: Uint8Array, group: RecordHeader): RecordHeader[][] | null {
  const [frame, ...shapes] = [...readRecords(stream, group.start, group.end)].filter(
    (record) => record.type === type.shape,
  );
  if (frame === undefined || !isTableFrame(stream, frame)) return null;
  const cells = shapes.flatMap((shape) => readCell(stream, shape) ?? []);
  cells.sort((a, b) => a.top - b.top || a.left - b.left);
  const rows: RecordHeader[][] = [];
  cells.forEach(({ shape, top }, i) => {
    if (i > 0 && cells[i - 1]!.top === top) rows.at(-1)!.push(shape);
    else rows.push([shape]);
  });
  return rows;
}

function isTableFrame(stream: Uint8Array, frame: RecordHeader): boolean {
  for (const record of readRecords(stream, frame.start, frame.end)) {
    if (record.type !== type.moreProperties) continue;
    for (let i = 0; i < record.instance && record.start + (i + 1) * propertyBytes <= record.end; i++) {
      const at = record.start + i * propertyBytes;
      if ((readUint16(stream, at) & 0x3fff) === tableProperty) return (readUint32(stream, at + 2) & 1) === 1;
    }
  }
  return false;
}

/** Returns null for the lines between cells, which have zero width or height. */
function readCell(stream: Uint8Array, shape: RecordHeader): Cell | null {
  for (const { type: kind, start, end } of readRecords(stream, shape.start, shape.end)) {
    if (kind !== type.childAnchor || end - start < 16) continue;
    const [left, top, right, bottom] = [0, 4, 8, 12].map((at) => readUint32(stream, start + at) | 0) as [
      number,
      number,
      number,
      number,
    ];
    return left < right && top < bottom ? { shape, left, top } : null;
  }
  return null;
}
