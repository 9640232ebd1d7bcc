import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { CertificatePair } from '../http/certificate-pairs.ts';
import { bertTokenizer, config, tokenVectorsGraph } from '../models/model-folder-fixtures.ts';
import type { Test } from '../support/tap.ts';

/** Answer of the hub in place of the correct one. */
export interface HubFault {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the connection after this many bytes of the body. */
  readonly endAfter?: number;
  /** Replaces the content; its length is sent unless `keepsLength`. */
  readonly content?: Buffer;
  readonly keepsLength?: boolean;
  /** Sends whole files although a part is requested. */
  readonly ignoresRange?: boolean;
}

export interface HubRequest {
  readonly host: 'hub' | 'storage';
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
}

/** Certificates of hosts that speak HTTPS. */
type HubCertificates = Readonly<Partial<Record<HubRequest['host'], CertificatePair>>>;

export const repository = 'organization/letters';
export const commit = '0123456789abcdef0123456789abcdef01234567';

/** Notes beside the graph, long enough for several packets. */
const notes = Buffer.alloc(400_000, 'The tide turns. ');

export const modelFiles: Readonly<Record<string, Buffer>> = {
  'README.md': Buffer.from('# Letters'),
  LICENSE: Buffer.from('Apache-2.0'),
  'config.json': Buffer.from(JSON.stringify(config)),
  'tokenizer.json': Buffer.from(JSON.stringify(bertTokenizer)),
  'onnx/model.onnx': Buffer.from(tokenVectorsGraph()),
  'onnx/model.onnx.notes': notes,
  'onnx/model_other.onnx': Buffer.from('another graph'),
};

export function sha256Of(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function gitHashOf(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}

/** Entry of the list of files; those below `onnx` are in a storage of their own, as large files are. */
export function listEntry(path: string, content: Buffer) {
  const entry = { rfilename: path, size: content.length, blobId: gitHashOf(content) };
  return path.startsWith('onnx/')
    ? { ...entry, lfs: { sha256: sha256Of(content), size: content.length, pointerSize: 130 } }
    : entry;
}

/** Hub on this machine, with a storage on another port to which it redirects requests for large files. */
export class FakeHub {
  readonly requests: HubRequest[] = [];
  files: Readonly<Record<string, Buffer>> = modelFiles;
  /** Faults by path, such as `/config.json` (file) or `/api` (list), in the order of the requests. */
  readonly faults = new Map<string, HubFault[]>();
  /** Fields that replace those of the reply with the list. */
  list: Readonly<Record<string, unknown>> = {};
  readonly #hub: Server;
  readonly #storage: Server;

  private constructor(certificates: HubCertificates) {
    const open = (host: HubRequest['host']) => {
      const { certificate: cert, key } = certificates[host] ?? {};
      const answer = (message: IncomingMessage, reply: ServerResponse) => this.#answer(host, message, reply);
      return key === undefined ? createServer(answer) : createTlsServer({ cert, key }, answer);
    };
    this.#hub = open('hub');
    this.#storage = open('storage');
  }

  static async start(t: Pick<Test, 'teardown'>, certificates: HubCertificates = {}): Promise<FakeHub> {
    const hub = new FakeHub(certificates);
    for (const server of [hub.#hub, hub.#storage]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      t.teardown(() => {
        server.closeAllConnections();
        server.close();
      });
    }
    return hub;
  }

  get url(): string {
    return urlOf(this.#hub);
  }

  /** Makes the next requests of a path fail, one after the other. */
  fail(path: string, ...faults: readonly HubFault[]): void {
    this.faults.set(path, [...faults]);
  }

  /** Ranges of the requests of a file to its storage, or to the hub. */
  rangesOf(path: string): (string | undefined)[] {
    return this.requests.filter((each) => each.path === `/${path}`).map(({ range }) => range);
  }

  #answer(host: HubRequest['host'], message: IncomingMessage, reply: ServerResponse): void {
    const url = new URL(message.url ?? '/', this.url);
    const isList = url.pathname.startsWith('/api/');
    const path = isList
      ? '/api'
      : decodeURIComponent(url.pathname.replace(`/${repository}/resolve/${commit}`, ''));
    const { range, authorization } = message.headers;
    const isRedirected = host === 'hub' && path.startsWith('/onnx/');
    if (!isRedirected) this.requests.push({ host, path, range, authorization });
    else this.requests.push({ host, path: `${path} (redirected)`, range, authorization });
    const fault = this.faults.get(isRedirected ? `${path} (redirected)` : path)?.shift() ?? {};
    if (fault.status !== undefined) return void reply.writeHead(fault.status, fault.headers).end('no');
    if (isRedirected) {
      const location = urlOf(this.#storage) + path;
      return void reply.writeHead(302, { location }).end();
    }
    const content = fault.content ?? (isList ? this.#describe(url) : this.files[path.slice(1)]);
    if (content === undefined) return void reply.writeHead(404).end('not found');
    send(reply, content, { ...fault, range, original: this.files[path.slice(1)] });
  }

  #describe(url: URL): Buffer | undefined {
    const [, name, revision = ''] = /^\/api\/models\/(.+)\/revision\/([^/]+)$/.exec(url.pathname) ?? [];
    const isKnown = name === repository && ['main', commit].includes(decodeURIComponent(revision));
    if (!isKnown || url.searchParams.get('blobs') !== 'true') return undefined;
    const siblings = Object.entries(this.files).map(([path, content]) => listEntry(path, content));
    return Buffer.from(
      JSON.stringify({ id: name, sha: commit, cardData: { license: 'apache-2.0' }, siblings, ...this.list }),
    );
  }
}

function send(
  reply: ServerResponse,
  content: Buffer,
  {
    range,
    original,
    endAfter,
    keepsLength = false,
    ignoresRange = false,
  }: HubFault & { readonly range: string | undefined; readonly original: Buffer | undefined },
): void {
  const start = ignoresRange ? 0 : Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  const rest = content.subarray(start);
  const total = keepsLength ? (original ?? content).length : content.length;
  reply.writeHead(start > 0 ? 206 : 200, {
    'content-length': total - start,
    ...(start > 0 ? { 'content-range': `bytes ${start}-${total - 1}/${total}` } : {}),
  });
  if (endAfter === undefined) return void reply.end(rest);
  reply.write(rest.subarray(0, endAfter), () => reply.destroy());
}

function urlOf(server: Server): string {
  const scheme = server instanceof TlsServer ? 'https' : 'http';
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
