import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { AppError } from '../core/app-error.ts';
import { htmlPagePolicy, renderHtmlPage } from '../core/html-page.ts';
import type { Exchange, Reply } from './exchange.ts';
import { textReply } from './replies.ts';

/** Only this server's own files may load or run, and no other page may frame it. Images may also be made by the page. */
const dashboardPolicy =
  "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const entryFile = 'index.html';
const assetFolder = 'assets/';

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};

type Encoding = 'br' | 'gzip' | 'identity';

/** A file as it was built, and as it goes over the wire; it is compressed once, when somebody first wants it so. */
class StaticFile {
  readonly contentType: string;
  readonly etag: string;
  readonly #bytes: Uint8Array;
  readonly #compressed = new Map<Encoding, Promise<Uint8Array>>();

  constructor(name: string, bytes: Uint8Array) {
    this.contentType = contentTypes[extname(name)] ?? 'application/octet-stream';
    this.etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    this.#bytes = bytes;
  }

  /** Fonts and pictures are compressed already. */
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

/**
 * The dashboard: one page for every address under /app/, because its router runs in the browser, and its files under
 * /assets/, whose names change with what is in them. All of it lies in memory, and a file is looked up by its name, so
 * no request reaches the disk.
 */
export class Dashboard {
  readonly #files: ReadonlyMap<string, StaticFile>;

  /** `built`: the files by their paths below the build folder; empty when there is no build. */
  constructor(files: ReadonlyMap<string, Uint8Array>) {
    this.#files = new Map([...files].map(([name, bytes]) => [name, new StaticFile(name, bytes)]));
  }

  get isBuilt(): boolean {
    return this.#files.has(entryFile);
  }

  async servePage(exchange: Exchange): Promise<Reply> {
    const file = this.#files.get(entryFile);
    if (file === undefined) return notBuiltReply();
    return staticFileReply(exchange, file, {
      'cache-control': 'no-cache',
      'content-security-policy': dashboardPolicy,
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
  }

  /** 404 for what the build did not make. */
  async serveAsset(exchange: Exchange, name: string): Promise<Reply> {
    const file = this.#files.get(assetFolder + name);
    if (file === undefined) throw new AppError('not_found', 'There is no such file.');
    return staticFileReply(exchange, file, { 'cache-control': 'public, max-age=31536000, immutable' });
  }
}

/** The files of a build; none where there was no build. */
export function readBuiltFiles(folder: string): ReadonlyMap<string, Uint8Array> {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [relative(folder, path).split(sep).join('/'), readFileSync(path)];
    }),
  );
}

async function staticFileReply(
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

/** Brotli where the browser takes it, then gzip (RFC 9110 section 12.5.3). */
function negotiateEncoding(accepted: string | undefined): Encoding {
  const acceptedEncodings = (accepted ?? '').split(',').flatMap((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name];
  });
  return (['br', 'gzip'] as const).find((each) => acceptedEncodings.includes(each)) ?? 'identity';
}

/** In whatever encoding the client has it. */
function matchesEtag(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((each) => each.trim().replace(/^W\//, '').startsWith(`"${etag}-`)) === true;
}

function notBuiltReply(): Reply {
  const body = `<div class="card">
<h1>The dashboard is not built</h1>
<p>Run <code>npm run build</code> in the folder of Quarry, then start the server again. Everything else works without it: see <a href="/docs">the documentation</a>.</p>
</div>`;
  const html = renderHtmlPage({ title: 'The dashboard is not built · Quarry', body });
  return textReply(503, 'text/html; charset=utf-8', html, {
    'content-security-policy': htmlPagePolicy,
    'referrer-policy': 'no-referrer',
  });
}
