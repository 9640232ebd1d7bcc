import { AppError } from '../../core/app-error.ts';
import type { Clock } from '../../core/clock.ts';
import { formatCount } from '../../core/format.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import { toTimestamp } from '../../core/timestamps.ts';
import type { Source, SourceChange, SourceContent, SourceItem, SourceListing } from '../source.ts';
import type { DavResource } from './multistatus.ts';
import type { DavListing, WebDavClient } from './webdav-client.ts';

export interface WebDavSourceOptions {
  /** The folder, with a slash at the end. */
  readonly url: URL;
  readonly includesHidden: boolean;
  readonly client: Pick<WebDavClient, 'list' | 'open'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** A file or folder in a folder. */
interface Child {
  /** Key of the file, or of the folder with a slash at its end. */
  readonly key: string;
  readonly resource: DavResource;
  /** Reason why it cannot be read; null: it can. */
  readonly problem: string | null;
}

/** Milliseconds after a change in which a file can change again without a new time, which is in seconds. */
const unstableMs = 2_000;

/** Files of a folder of a WebDAV server, such as Nextcloud. */
export class WebDavSource implements Source {
  readonly #options: WebDavSourceOptions;

  constructor(options: WebDavSourceOptions) {
    this.#options = options;
  }

  async *listChanges(
    _cursor: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceChange, SourceListing, void> {
    const { davFoldersMax, davDepthMax } = sourceLimits;
    const waiting = [''];
    for (let count = 1; ; count += 1) {
      const folder = waiting.pop();
      if (folder === undefined) return { cursor: null, isComplete: true };
      // A server could invent folders without end.
      if (folder.split('/').length > davDepthMax)
        yield failedFolder(folder, `It is more than ${formatCount(davDepthMax, 'level')} deep.`);
      else yield* this.#listFolder(folder, waiting, signal);
      if (count + waiting.length > davFoldersMax)
        throw new AppError(
          'bad_request',
          `The origin has more than ${formatCount(davFoldersMax, 'folder')}. Split it into several sources.`,
        );
    }
  }

  /** Adds the folders in the folder to `waiting`. Errors: AppError if the first folder cannot be listed. */
  async *#listFolder(
    folder: string,
    waiting: string[],
    signal: AbortSignal,
  ): AsyncGenerator<SourceChange, void, void> {
    let listing: DavListing | null;
    let children: readonly Child[];
    try {
      listing = await this.#options.client.list(this.#urlOf(folder), 1, signal);
      children = listing === null ? [] : this.#childrenOf(folder, listing);
    } catch (error) {
      signal.throwIfAborted();
      if (folder === '' || !(error instanceof AppError)) throw error;
      yield failedFolder(folder, error.message);
      return;
    }
    if (listing === null && folder === '')
      throw new AppError('bad_gateway', `The folder ${this.#options.url.href} does not exist.`);
    for (const { key, resource, problem } of children) {
      if (problem !== null) yield failedFolder(key, problem);
      else if (resource.isFolder) waiting.push(key);
      else yield { type: 'item', item: this.#toItem(key, resource, listing?.at ?? null) };
    }
  }

  /** Errors: `bad_gateway` if the listing is not one of this folder, because its documents would be deleted. */
  #childrenOf(folder: string, { resources }: DavListing): Child[] {
    const { href: base, pathname } = this.#urlOf(folder);
    const path = namesOf(pathname);
    const children = new Map<string, Child>();
    let hasFolder = false;
    for (const resource of resources) {
      // The host differs behind some proxies. All requests are sent to the host of the source.
      const target = URL.canParse(resource.href, base) ? new URL(resource.href, base).pathname : '';
      const names = namesOf(target);
      const isInside = path.every((name, i) => isSameName(name, names[i] ?? ''));
      if (!isInside || names.length > path.length + 1)
        throw new AppError(
          'bad_gateway',
          `The listing of ${base} contains ${JSON.stringify(resource.href)}, which is not in this folder. Check the URL.`,
        );
      if (names.length === path.length) {
        checkFolder(base, resource);
        hasFolder = true;
        continue;
      }
      const child = toChild(folder, names.at(-1)!, resource);
      const isHidden = child.key.startsWith('.', folder.length);
      if (this.#options.includesHidden || !isHidden) children.set(child.key, child);
    }
    if (!hasFolder)
      throw new AppError('bad_gateway', `The listing of ${base} does not contain the folder. Check the URL.`);
    return [...children.values()];
  }

  #toItem(key: string, { etag, modifiedAt, size }: DavResource, listedAt: number | null): SourceItem {
    const now = listedAt ?? this.#options.clock.now();
    const isStable = etag !== null || (modifiedAt !== null && now - modifiedAt > unstableMs);
    const modified = modifiedAt === null ? {} : { modified_at: toTimestamp(modifiedAt) };
    return {
      key,
      version: isStable ? JSON.stringify([etag, modifiedAt, size]) : '',
      metadata: { source_url: this.#urlOf(key).href, ...modified },
    };
  }

  async read({ key }: SourceItem, signal: AbortSignal): Promise<SourceContent | null> {
    const bytes = await this.#options.client.open(this.#urlOf(key), signal);
    return bytes === null ? null : { bytes };
  }

  async exists(key: string, signal: AbortSignal): Promise<boolean> {
    // A hidden file exists, but its document must be deleted.
    const isHidden = key.split('/').some((name) => name.startsWith('.'));
    if (isHidden && !this.#options.includesHidden) return false;
    const listing = await this.#options.client.list(this.#urlOf(key), 0, signal);
    const [resource] = listing?.resources ?? [];
    return resource !== undefined && resource.status === 200 && !resource.isFolder;
  }

  async close(): Promise<void> {}

  #urlOf(key: string): URL {
    const { href } = this.#options.url;
    return new URL(`${href}${key.split('/').map(encodeURIComponent).join('/')}`);
  }
}

/** `key`: also one that may be a file. */
function failedFolder(key: string, reason: string): SourceChange {
  return { type: 'unlisted', key, isPrefix: true, reason };
}

function checkFolder(url: string, { status, isFolder }: DavResource): void {
  if (status !== 200) throw new AppError('bad_gateway', `The listing of ${url} has the status ${status}.`);
  if (!isFolder) throw new AppError('bad_gateway', `${url} is not a folder. Use the URL of its folder.`);
}

function toChild(folder: string, encodedName: string, resource: DavResource): Child {
  const name = decode(encodedName);
  const end = resource.isFolder ? '/' : '';
  const isUsable = name !== null && !/[/\0]/.test(name);
  if (!isUsable) {
    const problem = 'Its name is not UTF-8, or contains a slash or NUL.';
    return { key: `${folder}${encodedName}${end}`, resource, problem };
  }
  const { status } = resource;
  const problem = status === 200 ? null : `The server reports the status ${status}.`;
  return { key: `${folder}${name}${end}`, resource, problem };
}

/** Encoded names of the folders of a path, and of its file. */
function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}

/** Servers encode names in different ways. */
function isSameName(left: string, right: string): boolean {
  return left === right || (decode(left) ?? left) === decode(right);
}

/** Returns null for a name that is not UTF-8. */
function decode(name: string): string | null {
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
}
