import { deflateSync } from 'node:zlib';
import { compoundFileOf } from './compound-fixtures.ts';
import { uint16, uint32, utf16le } from './legacy-bytes.ts';

/** Builder of PowerPoint 97-2003 files. */

export interface PptSlide {
  readonly title?: string;
  readonly body?: readonly string[];
  readonly notes?: string;
  /** Texts on the notes page outside the notes placeholder. */
  readonly notesPageTexts?: readonly string[];
  /** Rows of a table, drawn from the last cell to the first. */
  readonly table?: readonly (readonly string[])[];
  /** Compound file of a chart or a workbook on the slide. */
  readonly object?: Uint8Array;
}

function record(type: number, instance: number, content: Uint8Array, container = false): Buffer {
  return Buffer.concat([
    uint16((instance << 4) | (container ? 15 : 0), type),
    uint32(content.length),
    content,
  ]);
}

/** Builds a PowerPoint 97 presentation: titles are in the outline, everything else in the slides. */
export function buildPpt(slides: readonly PptSlide[], { encrypted = false } = {}): Uint8Array {
  const objects: Buffer[] = [];
  const keep = (object: Buffer) => objects.push(object);
  const outline: Buffer[] = [];
  const notes: Buffer[] = [];
  const embedded: Buffer[] = [];
  slides.forEach((slide, i) => {
    if (slide.object === undefined) return;
    const packed = Buffer.concat([uint32(slide.object.length), deflateSync(slide.object)]);
    // Every second object is stored uncompressed.
    keep(i % 2 === 0 ? record(4_113, 1, packed) : record(4_113, 0, slide.object));
    embedded.push(record(4_044, 0, record(4_035, 0, uint32(1, 0, 700 + i, 0, objects.length + 1, 0)), true));
  });
  slides.forEach((slide, i) => {
    const drawing = Buffer.concat([textboxes(slide), tableShapes(slide), ...objectReference(slide, 700 + i)]);
    keep(record(1_006, 0, drawing, true));
    outline.push(record(1_011, 0, uint32(objects.length + 1, 0, 0, 256 + i, 0)));
    if (slide.title !== undefined) {
      outline.push(record(3_999, 0, uint32(0)), record(4_000, 0, utf16le(slide.title)));
    }
  });
  slides.forEach((slide, i) => {
    if (slide.notes === undefined) return;
    const notesPageTexts = (slide.notesPageTexts ?? []).map((text) => textbox(4, text));
    const page = [record(1_009, 0, uint32(256 + i, 0)), textbox(2, slide.notes), ...notesPageTexts];
    keep(record(1_008, 0, Buffer.concat(page), true));
    notes.push(record(1_011, 0, uint32(objects.length + 1, 0, 0, 0, 0)));
  });
  const lists = [
    record(4_080, 0, Buffer.concat(outline), true),
    record(4_080, 2, Buffer.concat(notes), true),
    record(1_033, 0, Buffer.concat(embedded), true),
  ];
  const document = record(1_000, 0, Buffer.concat(lists), true);
  const offsets = [0];
  for (const object of [document, ...objects]) offsets.push(offsets.at(-1)! + object.length);
  const first = uint32(1 | ((objects.length + 1) << 20), ...offsets.slice(0, -1));
  const directory = record(6_002, 0, first);
  const edit = record(4_085, 0, uint32(0, 0, 0, offsets.at(-1)!, 1, 0, 0));
  const stream = Buffer.concat([document, ...objects, directory, edit]);
  const user = record(
    4_086,
    0,
    uint32(20, encrypted ? 0xf3d1c4df : 0xe391c05f, stream.length - edit.length, 0),
  );
  return compoundFileOf({ 'PowerPoint Document': stream, 'Current User': user });
}

function objectReference({ object }: PptSlide, id: number): Buffer[] {
  return object === undefined ? [] : [record(0xf011, 0, record(3_009, 0, uint32(id)), true)];
}

/** Group of shapes: a property that marks it as a table, a line between cells, the cells. */
function tableShapes({ table }: PptSlide): Buffer {
  if (table === undefined) return Buffer.alloc(0);
  const propertyRecord = record(0xf122, 1, Buffer.concat([uint16(0x039f), uint32(1)]));
  const shape = (place: readonly number[], text: string) => {
    const content = Buffer.concat([record(3_999, 0, uint32(4)), record(4_000, 0, utf16le(text))]);
    const box = text === '' ? [] : [record(0xf00d, 0, content, true)];
    return record(0xf004, 0, Buffer.concat([record(0xf00f, 0, uint32(...place)), ...box]), true);
  };
  const cells = table.flatMap((row, y) =>
    row.map((text, x) => shape([x * 100, y * 50, x * 100 + 100, y * 50 + 50], text)),
  );
  const shapes = [record(0xf004, 0, propertyRecord, true), shape([0, 50, 200, 50], ''), ...cells.reverse()];
  return record(0xf003, 0, Buffer.concat(shapes), true);
}

function textbox(role: number, text: string): Buffer {
  const content = [record(3_999, 0, uint32(role)), record(4_008, 0, Buffer.from(text, 'latin1'))];
  return record(0xf00d, 0, Buffer.concat(content), true);
}

function textboxes({ title, body }: PptSlide): Buffer {
  const boxes = (body ?? []).map((text) => textbox(1, text));
  const reference = title === undefined ? [] : [record(0xf00d, 0, record(3_998, 0, uint32(0)), true)];
  return record(1_036, 0, Buffer.concat([...reference, ...boxes]), true);
}
