import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { AppError } from '../base/app-error.ts';
import { plainPage, plainPagePolicy } from '../base/plain-page.ts';
import type { Exchange, Reply } from './exchange.ts';
import { textReply } from './replies.ts';

/** Only this server's own files may load or run, and no other page may frame it. Images may also be made by the page. */
const dashboardPolicy =
  "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const entry = 'index.html';
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
class BuiltFile {
  readonly contentType: string;
  readonly tag: string;
  readonly #bytes: Uint8Array;
  readonly #compressed = new Map<Encoding, Promise<Uint8Array>>();

  constructor(name: string, bytes: Uint8Array) {
    this.contentType = contentTypes[extname(name)] ?? 'application/octet-stream';
    this.tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    this.#bytes = bytes;
  }

  /** Fonts and pictures are compressed already. */
  get mayShrink(): boolean {
    return /^text|json|svg/.test(this.contentType);
  }

  as(encoding: Encoding): Promise<Uint8Array> {
    if (encoding === 'identity') return Promise.resolve(this.#bytes);
    let made = this.#compressed.get(encoding);
    if (made === undefined) {
      made = compress[encoding](this.#bytes);
      this.#compressed.set(encoding, made);
    }
    return made;
  }
}

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);
const compress = {
  br: (bytes: Uint8Array) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Uint8Array) => zip(bytes, { level: 9 }),
} as const;

/**
 * The dashboard: one page for every address under /app/, because its router runs in the browser, and its files under
 * /assets/, whose names change with what is in them. All of it lies in memory, and a file is looked up by its name, so
 * no request reaches the disk.
 */
export class Dashboard {
  readonly #files: ReadonlyMap<string, BuiltFile>;

  /** `built`: the files by their paths below the build folder; empty when there is no build. */
  constructor(built: ReadonlyMap<string, Uint8Array>) {
    this.#files = new Map([...built].map(([name, bytes]) => [name, new BuiltFile(name, bytes)]));
  }

  get isBuilt(): boolean {
    return this.#files.has(entry);
  }

  async page(exchange: Exchange): Promise<Reply> {
    const file = this.#files.get(entry);
    if (file === undefined) return notBuilt();
    return builtReply(exchange, file, {
      'cache-control': 'no-cache',
      'content-security-policy': dashboardPolicy,
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
  }

  /** 404 for what the build did not make. */
  async asset(exchange: Exchange, name: string): Promise<Reply> {
    const file = this.#files.get(assetFolder + name);
    if (file === undefined) throw new AppError('not_found', 'There is no such file.');
    return builtReply(exchange, file, { 'cache-control': 'public, max-age=31536000, immutable' });
  }
}

/** The files of a build; none where there was no build. */
export function builtFiles(folder: string): ReadonlyMap<string, Uint8Array> {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [relative(folder, path).split(sep).join('/'), readFileSync(path)];
    }),
  );
}

async function builtReply(exchange: Exchange, file: BuiltFile, more: Reply['headers']): Promise<Reply> {
  const encoding = file.mayShrink ? encodingFor(exchange.header('accept-encoding')) : 'identity';
  const headers = {
    ...more,
    'content-type': file.contentType,
    etag: `"${file.tag}-${encoding}"`,
    ...(file.mayShrink ? { vary: 'accept-encoding' } : {}),
    ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
  };
  if (isKnown(exchange.header('if-none-match'), file.tag)) {
    return { status: 304, headers, body: new Uint8Array(0), headersOnly: true };
  }
  return { status: 200, headers, body: await file.as(encoding) };
}

/** Brotli where the browser takes it, then gzip (RFC 9110 section 12.5.3). */
function encodingFor(accepted: string | undefined): Encoding {
  const taken = (accepted ?? '').split(',').flatMap((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name];
  });
  return (['br', 'gzip'] as const).find((each) => taken.includes(each)) ?? 'identity';
}

/** In whatever encoding the client has it. */
function isKnown(header: string | undefined, tag: string): boolean {
  return header?.split(',').some((each) => each.trim().replace(/^W\//, '').startsWith(`"${tag}-`)) === true;
}

function notBuilt(): Reply {
  const body = `<div class="card">
<h1>The dashboard is not built</h1>
<p>Run <code>npm run build</code> in the folder of Quarry, then start the server again. Everything else works without it: see <a href="/docs">the documentation</a>.</p>
</div>`;
  const html = plainPage({ title: 'The dashboard is not built · Quarry', body });
  return textReply(503, 'text/html; charset=utf-8', html, {
    'content-security-policy': plainPagePolicy,
    'referrer-policy': 'no-referrer',
  });
}
