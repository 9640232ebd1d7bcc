import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Exchange, Reply } from './exchange.ts';

type Encoding = 'br' | 'gzip' | 'identity';

/** Bytes that never change, and their compressed forms; each encoding is computed once, on first use. */
export class StaticFile {
  readonly contentType: string;
  readonly etag: string;
  readonly #bytes: Uint8Array;
  readonly #compressed = new Map<Encoding, Promise<Uint8Array>>();

  constructor(contentType: string, bytes: Uint8Array) {
    this.contentType = contentType;
    this.etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    this.#bytes = bytes;
  }

  /** False for fonts and raster images, which are already compressed. */
  get isCompressible(): boolean {
    return /^text|json|svg/.test(this.contentType);
  }

  encode(encoding: Encoding): Promise<Uint8Array> {
    if (encoding === 'identity') return Promise.resolve(this.#bytes);
    let compressed = this.#compressed.get(encoding);
    if (compressed === undefined) {
      compressed = compress[encoding](this.#bytes);
      this.#compressed.set(encoding, compressed);
    }
    return compressed;
  }
}

const brotliBuffer = promisify(brotliCompress);
const gzipBuffer = promisify(gzip);
const compress = {
  br: (bytes: Uint8Array) => brotliBuffer(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Uint8Array) => gzipBuffer(bytes, { level: 9 }),
} as const;

/** Replies with the file in an encoding that the client accepts, or with 304 if it has the file. */
export async function staticFileReply(
  exchange: Exchange,
  file: StaticFile,
  extraHeaders: Reply['headers'],
): Promise<Reply> {
  const encoding = file.isCompressible ? negotiateEncoding(exchange.header('accept-encoding')) : 'identity';
  const headers = {
    ...extraHeaders,
    'content-type': file.contentType,
    etag: `"${file.etag}-${encoding}"`,
    ...(file.isCompressible ? { vary: 'accept-encoding' } : {}),
    ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
  };
  if (matchesEtag(exchange.header('if-none-match'), file.etag)) {
    return { status: 304, headers, body: new Uint8Array(0), headersOnly: true };
  }
  return { status: 200, headers, body: await file.encode(encoding) };
}

/** Picks Brotli if accepted, then gzip (RFC 9110 section 12.5.3). */
function negotiateEncoding(accepted: string | undefined): Encoding {
  const acceptedEncodings = (accepted ?? '').split(',').flatMap((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name];
  });
  return (['br', 'gzip'] as const).find((each) => acceptedEncodings.includes(each)) ?? 'identity';
}

/** Matches the entity tag in any encoding. */
function matchesEtag(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((each) => each.trim().replace(/^W\//, '').startsWith(`"${etag}-`)) === true;
}
