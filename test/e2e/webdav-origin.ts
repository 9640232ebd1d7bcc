import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestOrigin } from './source-fixture.ts';

interface DavFile {
  readonly content: string;
  readonly etag: string;
  readonly modifiedAt: Date;
}

/** Differences between servers that clients must accept. */
export interface DavStyle {
  /** Prefix of the elements of the namespace `DAV:`; empty: it is the default namespace. */
  readonly prefix: string;
  /** Start of the addresses of resources: empty, or a URL, perhaps of another host. */
  readonly base: string;
  readonly hasEtags: boolean;
  readonly hasTimes: boolean;
  /** Encodes a name in an address. */
  readonly encode: (name: string) => string;
  /** Whether addresses of folders end with a slash. */
  readonly hasSlashes: boolean;
}

export const nextcloudStyle: DavStyle = {
  prefix: 'd:',
  base: '',
  hasEtags: true,
  hasTimes: true,
  encode: encodeURIComponent,
  hasSlashes: true,
};

/** Folder that the server serves, in the form of Nextcloud. */
const root = '/remote.php/dav/files/ada l./';
const properties = ['resourcetype', 'getetag', 'getlastmodified', 'getcontentlength'] as const;
type PropertyName = (typeof properties)[number];

/**
 * A folder of a WebDAV server (RFC 4918) in memory. It answers only PROPFIND with a depth and a complete body, and
 * GET of files.
 */
export class WebDavOrigin implements TestOrigin {
  readonly files = new Map<string, DavFile>();
  /** Method and decoded path of all requests. */
  readonly requests: string[] = [];
  /** Value of the header `authorization` that is required; null: none. */
  authorization: string | null = null;
  style: DavStyle = nextcloudStyle;
  /** Replaces the reply to PROPFIND of a folder, by its key. */
  readonly replies = new Map<string, (response: ServerResponse, xml: string) => void>();
  readonly #server: Server;
  #changes = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<WebDavOrigin> {
    const origin = new WebDavOrigin();
    await new Promise<void>((resolve) => origin.#server.listen(0, '127.0.0.1', resolve));
    return origin;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}${root}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async write(key: string, content: string): Promise<void> {
    this.#changes += 1;
    // Times have a resolution of a second, and older ones are trusted.
    const modifiedAt = new Date(Date.now() - 3_600_000 + this.#changes * 1_000);
    this.files.set(key, { content, etag: `"${this.#changes}&1"`, modifiedAt });
  }

  async rename(from: string, to: string): Promise<void> {
    this.files.set(to, this.files.get(from)!);
    this.files.delete(from);
  }

  async delete(key: string): Promise<void> {
    this.files.delete(key);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += String(part);
    const path = decodeURIComponent(new URL(request.url ?? '/', this.url).pathname);
    const name = path.startsWith(root) ? path.slice(root.length) : null;
    // A slash after the name of a file is accepted.
    const key = this.files.has(name?.slice(0, -1) ?? '') ? name!.slice(0, -1) : name;
    this.requests.push(`${request.method} ${key}`);
    const file = this.files.get(key ?? '');
    if (this.authorization !== null && request.headers.authorization !== this.authorization)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
    else if (key === null) response.writeHead(404).end();
    else if (request.method === 'PROPFIND') this.#answerPropfind(request, response, { key, body });
    else if (request.method !== 'GET') response.writeHead(405).end();
    else if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { etag: file.etag }).end(file.content);
  }

  #answerPropfind(
    { headers }: IncomingMessage,
    response: ServerResponse,
    { key, body }: { readonly key: string; readonly body: string },
  ): void {
    const names = properties.filter((name) => new RegExp(`<(\\w+:)?${name}/>`).test(body));
    const isValid =
      /^<\?xml [^>]+>\s*<(\w+:)?propfind xmlns(:\w+)?="DAV:">/.test(body) &&
      /^(application|text)\/xml/.test(headers['content-type'] ?? '') &&
      names.length > 0;
    const folder = key === '' || key.endsWith('/') ? key : `${key}/`;
    const isFolder = key === '' || [...this.files.keys()].some((file) => file.startsWith(folder));
    if (!isValid) response.writeHead(400).end();
    else if (headers.depth !== '0' && headers.depth !== '1') response.writeHead(403).end();
    else if (!isFolder && !this.files.has(key)) response.writeHead(404).end();
    else {
      const children = isFolder && headers.depth === '1' ? this.#childrenOf(folder) : [];
      const xml = this.#render([isFolder ? folder : key, ...children], names);
      const reply = this.replies.get(folder);
      if (reply !== undefined) reply(response, xml);
      else response.writeHead(207, { 'content-type': 'application/xml; charset=utf-8' }).end(xml);
    }
  }

  #render(keys: readonly string[], names: readonly PropertyName[]): string {
    const { prefix } = this.style;
    const namespace = prefix === '' ? 'xmlns' : `xmlns:${prefix.slice(0, -1)}`;
    const resources = keys.map((key) => this.#describe(key, names)).join('');
    return `<?xml version="1.0"?>\n<${prefix}multistatus ${namespace}="DAV:" xmlns:oc="http://owncloud.org/ns">${resources}</${prefix}multistatus>`;
  }

  /** Keys of the files and folders in a folder. */
  #childrenOf(folder: string): string[] {
    const inside = [...this.files.keys()].filter((key) => key.startsWith(folder));
    return [...new Set(inside.map((key) => /^[^/]+\/?/.exec(key.slice(folder.length))![0]))].map(
      (name) => `${folder}${name}`,
    );
  }

  #describe(key: string, names: readonly PropertyName[]): string {
    const { prefix, base, hasEtags, hasTimes, encode, hasSlashes } = this.style;
    const file = this.files.get(key);
    const values: Record<PropertyName, string | null> = {
      resourcetype: file === undefined ? `<${prefix}collection/>` : '',
      getetag: hasEtags
        ? (file?.etag ?? '"folder"').replaceAll('&', '&amp;').replaceAll('"', '&quot;')
        : null,
      getlastmodified: hasTimes ? (file?.modifiedAt.toUTCString() ?? null) : null,
      getcontentlength: file === undefined ? null : String(Buffer.byteLength(file.content)),
    };
    const toElement = (name: PropertyName) => `<${prefix}${name}>${values[name] ?? ''}</${prefix}${name}>`;
    const known = names.filter((name) => values[name] !== null);
    const unknown = names.filter((name) => values[name] === null);
    const toStat = (found: readonly PropertyName[], status: string) =>
      found.length === 0
        ? ''
        : `<${prefix}propstat><${prefix}prop>${found.map(toElement).join('')}</${prefix}prop><${prefix}status>HTTP/1.1 ${status}</${prefix}status></${prefix}propstat>`;
    const path = `${root}${key}`.split('/').map(encode).join('/');
    const href = `${base}${hasSlashes || !path.endsWith('/') ? path : path.slice(0, -1)}`;
    return `<${prefix}response><${prefix}href>${href.replaceAll('&', '&amp;')}</${prefix}href>${toStat(known, '200 OK')}${toStat(unknown, '404 Not Found')}</${prefix}response>`;
  }
}
