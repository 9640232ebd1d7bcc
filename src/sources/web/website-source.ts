import { createHash } from 'node:crypto';
import { AppError } from '../../core/app-error.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import { toTimestamp } from '../../core/timestamps.ts';
import type { Source, SourceChange, SourceContent, SourceItem, SourceListing } from '../source.ts';
import { asStream } from './feed-source.ts';
import type { MainContentThread } from './main-content-thread.ts';
import { readPageLinks, readSitemap } from './markup.ts';
import { isAllowedByRobots, parseRobots, type Robots } from './robots.ts';
import { unpack } from './unpack.ts';
import {
  redirectOf,
  textOf,
  type Validators,
  validatorsOf,
  type WebClient,
  type WebReply,
} from './web-client.ts';

export interface WebsiteSourceOptions {
  readonly url: URL;
  /** Null: links are followed from `url`. */
  readonly sitemapUrl: URL | null;
  readonly pagesMax: number;
  readonly depthMax: number;
  readonly client: WebClient;
  /** Null: documents are whole pages. */
  readonly mainContent: Pick<MainContentThread, 'extract' | 'close'> | null;
}

type PageContent = Pick<WebReply, 'headers' | 'body'>;

/** A page of an earlier run, so that an unchanged page need not be sent again. */
interface KnownPage extends Validators {
  readonly hash: string;
  readonly links: readonly string[];
}

interface QueuedPage {
  readonly url: URL;
  readonly depth: number;
}

interface PageResult {
  readonly change: SourceChange | null;
  readonly links: readonly string[];
}

const noPage: PageResult = { change: null, links: [] };
/** Types of files that are not documents. */
const otherTypes = /^(image|audio|video|font)\/|\/(css|javascript|x-javascript|zip|gzip|octet-stream)\b/i;

/** Pages of a website, found by links or a sitemap, as robots.txt allows. */
export class WebsiteSource implements Source {
  readonly #options: WebsiteSourceOptions;
  /** Listed pages that are not read yet; at most as many as items are read at the same time. */
  readonly #contents = new Map<string, PageContent>();
  readonly #urls = new Map<string, URL>();
  #hasFailed = false;

  constructor(options: WebsiteSourceOptions) {
    this.#options = options;
  }

  async *listChanges(
    cursor: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceChange, SourceListing, void> {
    const { client, pagesMax, depthMax, url } = this.#options;
    const before = new Map(Object.entries(JSON.parse(cursor ?? '{}') as Record<string, KnownPage>));
    const after = new Map<string, KnownPage>();
    const robots = await this.#readRobots(signal);
    client.delay(robots.crawlDelayMs);
    const queue: QueuedPage[] = (await this.#startPages(signal)).map((start) => ({ url: start, depth: 0 }));
    const queued = new Set(queue.map((page) => page.url.href));
    for (let at = 0; at < queue.length && this.#urls.size < pagesMax; at += 1) {
      const page = queue[at]!;
      if (!isAllowedByRobots(robots, `${page.url.pathname}${page.url.search}`)) continue;
      const isStart = page.url.href === url.href;
      const result = await this.#visit(page.url, { before, after, isStart }, signal);
      if (result.change !== null) yield result.change;
      const links = page.depth < depthMax && this.#options.sitemapUrl === null ? result.links : [];
      for (const link of links) {
        const next = this.#normalize(link);
        if (next === null || queued.has(next.href)) continue;
        queued.add(next.href);
        queue.push({ url: next, depth: page.depth + 1 });
      }
    }
    const next = JSON.stringify(Object.fromEntries(after));
    const hasCursor = next.length <= sourceLimits.cursorUnitsMax;
    return { cursor: hasCursor ? next : null, isComplete: !this.#hasFailed };
  }

  async read({ key }: SourceItem, signal: AbortSignal): Promise<SourceContent | null> {
    const url = this.#urls.get(key);
    if (url === undefined) return null;
    const known = this.#contents.get(key);
    this.#contents.delete(key);
    if (known !== undefined) return await this.#toContent(known, signal);
    const reply = await this.#options.client.get(url, signal);
    if (reply.status === 404 || reply.status === 410) return null;
    if (reply.status !== 200) throw statusError(url, reply);
    return await this.#toContent(reply, signal);
  }

  async #toContent(page: PageContent, signal: AbortSignal): Promise<SourceContent> {
    const { mainContent } = this.#options;
    const extracted =
      mainContent !== null && isHtml(page) ? await mainContent.extract(textOf(page), signal) : null;
    return { bytes: asStream(extracted === null ? page.body : Buffer.from(extracted)) };
  }

  /** A page without a link to it is not part of the site. */
  async exists(): Promise<boolean> {
    return false;
  }

  async close(): Promise<void> {
    this.#contents.clear();
    await this.#options.mainContent?.close();
  }

  /** Errors: an AppError if the first page fails. */
  async #visit(
    url: URL,
    {
      before,
      after,
      isStart,
    }: { before: Map<string, KnownPage>; after: Map<string, KnownPage>; isStart: boolean },
    signal: AbortSignal,
  ): Promise<PageResult> {
    const known = before.get(url.href);
    const key = keyOf(url);
    if (this.#urls.has(key)) return noPage;
    try {
      const reply = await this.#options.client.get(url, signal, known);
      if (reply.status === 304 && known !== undefined) {
        this.#urls.set(key, url);
        after.set(url.href, known);
        return { change: toChange({ key, url, hash: known.hash }, reply), links: known.links };
      }
      const target = redirectOf(reply, url);
      if (target !== null && isStart && this.#normalize(target.href) === null)
        throw new AppError('bad_gateway', `The page ${url.href} redirects to ${target.href}. Use that URL.`);
      if (target !== null) return { change: null, links: [target.href] };
      if (!isStart && (reply.status === 404 || reply.status === 410)) return noPage;
      if (reply.status !== 200) throw statusError(url, reply);
      return await this.#readPage({ key, url }, reply, after);
    } catch (error) {
      if (signal.aborted || isStart) throw error;
      const reason = error instanceof AppError ? error.message : `The page ${url.href} cannot be read.`;
      // Pages that only this page links to are not found, but must not be deleted.
      this.#hasFailed = true;
      return { change: { type: 'unlisted', key, isPrefix: false, reason }, links: [] };
    }
  }

  async #readPage(
    { key, url }: { readonly key: string; readonly url: URL },
    reply: WebReply,
    after: Map<string, KnownPage>,
  ): Promise<PageResult> {
    const type = reply.headers['content-type'] ?? '';
    if (otherTypes.test(type)) return noPage;
    const page = isHtml(reply)
      ? await readPageLinks(textOf(reply), url)
      : { links: [], directives: new Set<string>() };
    const header = reply.headers['x-robots-tag'] ?? '';
    const has = (name: string) =>
      page.directives.has(name) || page.directives.has('none') || header.toLowerCase().includes(name);
    const links = has('nofollow') ? [] : page.links.filter((link) => this.#normalize(link) !== null);
    if (has('noindex')) return { change: null, links };
    const hash = createHash('sha256').update(reply.body).digest('hex');
    this.#urls.set(key, url);
    this.#contents.set(key, { headers: reply.headers, body: reply.body });
    // A page is read soon after it is listed, or never if it is unchanged.
    if (this.#contents.size > 2 * sourceLimits.itemsRunningMax)
      this.#contents.delete(this.#contents.keys().next().value!);
    const validators = validatorsOf(reply);
    if (Object.keys(validators).length > 0) after.set(url.href, { ...validators, hash, links });
    return { change: toChange({ key, url, hash }, reply), links };
  }

  /** Errors: `bad_gateway` if robots.txt cannot be read, because it could forbid everything. */
  async #readRobots(signal: AbortSignal): Promise<Robots> {
    const url = new URL('/robots.txt', this.#options.url);
    const reply = await this.#options.client.follow(url, signal);
    if (reply.status === 200) return parseRobots(textOf(reply));
    if (reply.status >= 400 && reply.status < 500 && reply.status !== 429) return parseRobots('');
    throw statusError(url, reply);
  }

  async #startPages(signal: AbortSignal): Promise<URL[]> {
    const { sitemapUrl, url, client, pagesMax } = this.#options;
    if (sitemapUrl === null) return [url];
    const pages = new Map<string, URL>();
    const sitemaps = [sitemapUrl];
    for (let at = 0; at < sitemaps.length && at < 100 && pages.size < pagesMax; at += 1) {
      const reply = await client.follow(sitemaps[at]!, signal);
      if (reply.status !== 200) throw statusError(sitemaps[at]!, reply);
      const listed = await readSitemap(textOf(await unpack(reply, sitemaps[at]!)));
      for (const location of listed.pages) {
        const page = this.#normalize(location);
        if (page !== null) pages.set(page.href, page);
      }
      const isFirst = at === 0;
      if (isFirst)
        for (const location of listed.sitemaps)
          if (URL.canParse(location) && new URL(location).origin === sitemapUrl.origin)
            sitemaps.push(new URL(location));
    }
    return [...pages.values()];
  }

  /** Returns the URL without its fragment; null for a page that does not belong to the site. */
  #normalize(link: string): URL | null {
    const { url: start } = this.#options;
    if (link.length > sourceLimits.urlUnitsMax || !URL.canParse(link, start.href)) return null;
    const url = new URL(link, start.href);
    url.hash = '';
    const folder = start.pathname.slice(0, start.pathname.lastIndexOf('/') + 1);
    const isInside = url.origin === start.origin && url.pathname.startsWith(folder) && url.username === '';
    return isInside ? url : null;
  }
}

function isHtml({ headers }: PageContent): boolean {
  return /html/i.test(headers['content-type'] ?? '');
}

function toChange(
  { key, url, hash }: { readonly key: string; readonly url: URL; readonly hash: string },
  { headers }: WebReply,
): SourceChange {
  const time = Date.parse(headers['last-modified'] ?? '');
  const modified = Number.isNaN(time) ? {} : { modified_at: toTimestamp(time) };
  return { type: 'item', item: { key, version: hash, metadata: { source_url: url.href, ...modified } } };
}

/** Path and query of the URL; a folder has the name of its index page. */
function keyOf({ pathname, search }: URL): string {
  const path = pathname.slice(1);
  return `${path === '' || path.endsWith('/') ? `${path}index.html` : path}${search}`;
}

function statusError(url: URL, { status }: WebReply): AppError {
  return new AppError('bad_gateway', `The page ${url.href} replied with status ${status}.`);
}
