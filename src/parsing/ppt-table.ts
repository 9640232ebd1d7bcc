import { type RecordHead, recordsIn, uint16, uint32 } from './ppt-records.ts';

/** Tables in a PowerPoint 97-2003 file: a group of shapes, one for each cell. Source: [MS-ODRAW] 2.2.16 and 2.3.4.42. */

const type = { shape: 0xf004, childAnchor: 0xf00f, moreProperties: 0xf122 } as const;
const tableProperty = 0x039f;
const propertyBytes = 6;

interface Cell {
  readonly shape: RecordHead;
  readonly left: number;
  readonly top: number;
}

/** The shapes of the cells by rows, from top to bottom and left to right; null when the group is no table. */
export function tableRows(stream: Uint8Array, group: RecordHead): RecordHead[][] | null {
  const [frame, ...shapes] = [...recordsIn(stream, group.start, group.end)].filter(
    (record) => record.type === type.shape,
  );
  if (frame === undefined || !saysTable(stream, frame)) return null;
  const cells = shapes.flatMap((shape) => cellAt(stream, shape) ?? []);
  cells.sort((a, b) => a.top - b.top || a.left - b.left);
  const rows: RecordHead[][] = [];
  cells.forEach(({ shape, top }, i) => {
    if (i > 0 && cells[i - 1]!.top === top) rows.at(-1)!.push(shape);
    else rows.push([shape]);
  });
  return rows;
}

function saysTable(stream: Uint8Array, frame: RecordHead): boolean {
  for (const record of recordsIn(stream, frame.start, frame.end)) {
    if (record.type !== type.moreProperties) continue;
    for (let i = 0; i < record.instance && record.start + (i + 1) * propertyBytes <= record.end; i++) {
      const at = record.start + i * propertyBytes;
      if ((uint16(stream, at) & 0x3fff) === tableProperty) return (uint32(stream, at + 2) & 1) === 1;
    }
  }
  return false;
}

/** Null for the lines between cells, which have no width or no height. */
function cellAt(stream: Uint8Array, shape: RecordHead): Cell | null {
  for (const { type: kind, start, end } of recordsIn(stream, shape.start, shape.end)) {
    if (kind !== type.childAnchor || end - start < 16) continue;
    const [left, top, right, bottom] = [0, 4, 8, 12].map((at) => uint32(stream, start + at) | 0) as [
      number,
      number,
      number,
      number,
    ];
    return left < right && top < bottom ? { shape, left, top } : null;
  }
  return null;
}
