import { ParseFailure } from '../parse-failure.ts';
import { XmlReader } from '../xml-reader.ts';

/**
 * Reads the title from the XMP metadata of a PDF, which programs leave uncompressed for other programs to
 * find. Source: ISO 16684-1.
 */

const packetBytesMax = 1_000_000;
/** Number of packets examined from the end of the file, because the packet written last wins. */
const packetsMax = 20;
const depthMax = 64;
/** Schema of the metadata of the document itself; metadata of embedded pictures lacks it. */
const pdfSchema = 'http://ns.adobe.com/pdf/1.3/';

/** Returns the title, or null when there is none. */
export function readXmpTitle(bytes: Uint8Array): string | null {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let end = file.length;
  for (let seen = 0; seen < packetsMax && end > 0; seen++) {
    const start = file.lastIndexOf('<x:xmpmeta', end - 1, 'latin1');
    if (start < 0) return null;
    const close = file.indexOf('</x:xmpmeta>', start, 'latin1');
    end = start;
    if (close < 0 || close - start > packetBytesMax) continue;
    const packet = file.subarray(start, close + '</x:xmpmeta>'.length);
    if (!packet.includes(pdfSchema)) continue;
    const title = parseTitle(packet);
    if (title !== null) return title;
  }
  return null;
}

/** Returns the first alternative of `dc:title`, which is the default. */
function parseTitle(packet: Uint8Array): string | null {
  const reader = new XmlReader(packet, 'its metadata', depthMax);
  try {
    let [inTitle, words] = [false, ''];
    for (;;) {
      const token = reader.next();
      if (token === 'end') return null;
      if (token === 'text') {
        if (inTitle) words += reader.text;
      } else if (reader.name === 'title') inTitle = token === 'open';
      else if (inTitle && token === 'close' && words.trim() !== '') return words.trim();
    }
  } catch (error) {
    if (error instanceof ParseFailure) return null; // damaged metadata does not affect the text
    throw error;
  }
}
