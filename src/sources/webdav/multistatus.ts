import { AppError } from '../../core/app-error.ts';
import { readElements } from '../web/elements.ts';

/**
 * Properties of WebDAV (RFC 4918). The package `webdav` was tried: it adds 34 packages, does not bound a reply, and fails a
 * whole folder for one name that is not UTF-8.
 */

/** Request for the properties that `readMultistatus` reads. */
export const propertiesRequest = Buffer.from(
  '<?xml version="1.0" encoding="utf-8"?>\n<d:propfind xmlns:d="DAV:"><d:prop><d:resourcetype/><d:getetag/><d:getlastmodified/><d:getcontentlength/></d:prop></d:propfind>\n',
);

/** A file or a folder. */
export interface DavResource {
  /** As the server wrote it: an absolute URL or a path, with or without a slash at the end. */
  readonly href: string;
  /** Status of the resource, such as 403; 200 if it has properties. */
  readonly status: number;
  readonly isFolder: boolean;
  /** Properties that the server does not know are null. */
  readonly etag: string | null;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number | null;
  readonly size: string | null;
}

type Properties = Omit<DavResource, 'href' | 'status'>;

const noProperties: Properties = { isFolder: false, etag: null, modifiedAt: null, size: null };

/** Properties by the name of their element. */
const readers: Readonly<Record<string, (text: string) => Partial<Properties>>> = {
  'resourcetype/collection': () => ({ isFolder: true }),
  getetag: (etag) => (etag === '' ? {} : { etag }),
  getlastmodified: (text) => {
    const modifiedAt = Date.parse(text);
    return Number.isNaN(modifiedAt) ? {} : { modifiedAt };
  },
  getcontentlength: (size) => (size === '' ? {} : { size }),
};

const root = 'multistatus';
const responsePath = `${root}/response`;
const statPath = `${responsePath}/propstat`;
const propertyPath = `${statPath}/prop/`;

/** Reads the reply to PROPFIND. Errors: `bad_gateway` for other XML, or if it is not complete. */
export async function readMultistatus(parts: AsyncIterable<string>): Promise<DavResource[]> {
  const resources: DavResource[] = [];
  let isComplete = false;
  let href: string | null = null;
  let status: number | null = null;
  let properties = noProperties;
  let stat: { readonly status: number; readonly properties: Partial<Properties> } = noStat;
  await readElements(parts, ({ path, text, hasEndTag }) => {
    const value = text.trim();
    if (path === `${responsePath}/href`) href ??= value;
    else if (path === `${responsePath}/status`) status = parseStatus(value);
    else if (path === `${statPath}/status`) stat = { ...stat, status: parseStatus(value) };
    else if (path.startsWith(propertyPath)) {
      const read = readers[path.slice(propertyPath.length)];
      if (read !== undefined) stat = { ...stat, properties: { ...stat.properties, ...read(value) } };
    } else if (path === statPath) {
      if (stat.status === 200) properties = { ...properties, ...stat.properties };
      stat = noStat;
    } else if (path === responsePath) {
      if (href !== null) resources.push({ href, status: status ?? 200, ...properties });
      href = null;
      status = null;
      properties = noProperties;
    } else if (path === root) isComplete = hasEndTag;
  });
  if (isComplete) return resources;
  throw new AppError('bad_gateway', 'The reply is not a complete WebDAV listing.');
}

const noStat = { status: 200, properties: {} } as const;

/** `HTTP/1.1 404 Not Found` is 404; a status that cannot be read is 500. */
function parseStatus(line: string): number {
  return Number(/^HTTP\/[\d.]+ (\d{3})/.exec(line)?.[1] ?? 500);
}
