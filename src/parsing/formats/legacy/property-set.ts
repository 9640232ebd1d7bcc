import { decodeCodePage } from '../../encoding/code-page.ts';
import type { CompoundFile } from './compound-file.ts';

/** Title property of DOC, XLS and PPT files. Source: [MS-OLEPS]. */

const streamName = '\x05SummaryInformation';
const codePageProperty = 1;
const titleProperty = 2;
const shortType = 2;
const narrowStringType = 30;
const wideStringType = 31;
const propertiesMax = 1_000;

/** Returns the title, or null when there is none or it cannot be read. */
export function readPropertySetTitle(file: CompoundFile): string | null {
  const stream = file.read(streamName);
  if (stream === null || stream.length < 48) return null;
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  const section = view.getUint32(44, true);
  if (section + 8 > stream.length) return null;
  const count = Math.min(propertiesMax, view.getUint32(section + 4, true));
  let codePage = 1252;
  let title: string | null = null;
  for (let i = 0; i < count; i++) {
    const entry = section + 8 + i * 8;
    if (entry + 8 > stream.length) break;
    const id = view.getUint32(entry, true);
    const at = section + view.getUint32(entry + 4, true);
    if (at + 8 > stream.length) continue;
    const kind = view.getUint32(at, true);
    if (id === codePageProperty && kind === shortType) codePage = view.getUint16(at + 4, true);
    else if (id === titleProperty) title = readString(stream, at, codePage);
  }
  return title === null || title.trim() === '' ? null : title.trim();
}

function readString(stream: Uint8Array, at: number, codePage: number): string | null {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  const kind = view.getUint32(at, true);
  if (kind !== narrowStringType && kind !== wideStringType) return null;
  const bytes = view.getUint32(at + 4, true) * (kind === wideStringType ? 2 : 1);
  const content = stream.subarray(at + 8, at + 8 + bytes);
  return decodeCodePage(content, kind === wideStringType ? 1200 : codePage).replace(/\0[\s\S]*$/, '');
}
