import { formatCount } from '../core/format.ts';
import type { PageImage, RawDocument } from '../services/files.ts';
import type { Exchange, Reply } from './exchange.ts';

const immutableCacheControl = 'private, max-age=31536000, immutable';

/** Types that a browser displays without running file content in our origin; all others are downloaded. */
const inlineContentTypes = new Set([
  'application/pdf',
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
  'text/plain',
]);

/**
 * `[start, end)`; `whole` without a range, or with one that may be ignored; `none` when it is out of bounds.
 */
type ByteRange = { readonly start: number; readonly end: number } | 'whole' | 'none';

/**
 * Serves a raw document with ranges and validators, and with headers that prevent a stored HTML or SVG file
 * from running scripts in our origin.
 */
export function fileReply(exchange: Exchange, file: RawDocument): Reply {
  const headers = fileHeaders(file);
  if (matchesEtag(exchange.header('if-none-match'), file.etag)) {
    return { status: 304, headers, body: new Uint8Array(0), headersOnly: true };
  }
  const unchanged = exchange.header('if-range') === undefined || exchange.header('if-range') === headers.etag;
  const range = unchanged ? parseRange(exchange.header('range'), file.size) : 'whole';
  if (range === 'none') {
    return {
      status: 416,
      headers: { 'content-range': `bytes */${file.size}`, 'content-type': 'application/json' },
      body: Buffer.from(
        `${JSON.stringify({ detail: `The range is outside the document, which has ${formatCount(file.size, 'byte')}.` })}\n`,
      ),
    };
  }
  const { start, end } = range === 'whole' ? { start: 0, end: file.size } : range;
  return {
    status: range === 'whole' ? 200 : 206,
    headers:
      range === 'whole' ? headers : { ...headers, 'content-range': `bytes ${start}-${end - 1}/${file.size}` },
    body: { size: end - start, open: () => file.open({ start, end }) },
  };
}

export function imageReply(image: PageImage): Reply {
  return {
    status: 200,
    headers: { 'content-type': image.contentType, 'cache-control': immutableCacheControl },
    body: image.bytes,
  };
}

function fileHeaders(file: RawDocument): Record<string, string> {
  const kind = file.contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  const disposition = inlineContentTypes.has(kind) ? 'inline' : 'attachment';
  return {
    'content-type': file.contentType,
    'cache-control': immutableCacheControl,
    'accept-ranges': 'bytes',
    'content-disposition': `${disposition}; ${filenameParameters(file.filename)}`,
    // `sandbox` gives the file its own origin. Browsers refuse to show a sandboxed PDF, and a PDF runs
    // nothing here.
    'content-security-policy':
      kind === 'application/pdf'
        ? "script-src 'none'; frame-ancestors 'self'"
        : "default-src 'none'; sandbox",
    etag: `"${file.etag}"`,
  };
}

/**
 * Both forms of RFC 6266: an ASCII name for every client, and the exact name for clients that support UTF-8.
 */
function filenameParameters(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header
    .split(',')
    .some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === `"${etag}"`);
}

/** RFC 9110 section 14: one byte range. Multiple ranges and other units may be ignored, and are. */
function parseRange(header: string | undefined, size: number): ByteRange {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return 'whole';
  if (match[1] === '') {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? 'none' : { start: size - length, end: size };
  }
  const start = Number(match[1]);
  const last = match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (match[2] !== '' && Number(match[2]) < start) return 'whole';
  return start >= size ? 'none' : { start, end: last + 1 };
}
