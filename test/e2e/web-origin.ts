import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { TestOrigin } from './source-fixture.ts';
import { sha256 } from './source-fixture.ts';

/** A website with one page per key, an index page with links to all of them, a sitemap, a robots.txt and a feed. */
export class WebOrigin implements TestOrigin {
  readonly pages = new Map<string, string>();
  readonly headers = new Map<string, Readonly<Record<string, string>>>();
  /** Path and status of all requests. */
  readonly requests: string[] = [];
  robots = '';
  /** Status of all replies; null: as usual. */
  failure: number | null = null;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(): Promise<WebOrigin> {
    const origin = new WebOrigin();
    await new Promise<void>((resolve) => origin.#server.listen(0, '127.0.0.1', resolve));
    return origin;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}/`;
  }

  get index(): string {
    const links = [...this.pages.keys()].map((key) => `<a href="/${key}#top">${key}</a>`);
    return `<html><title>Index</title><p>All pages</p>${links.join('\n')}<a href="https://example.com/">other</a></html>`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async write(key: string, content: string): Promise<void> {
    this.pages.set(key, content);
  }

  async rename(from: string, to: string): Promise<void> {
    this.pages.set(to, this.pages.get(from)!);
    this.pages.delete(from);
  }

  async delete(key: string): Promise<void> {
    this.pages.delete(key);
  }

  entryOf(key: string): string {
    return `<item><guid>${key}</guid><link>${this.url}${key}</link><title>${key}</title><description>${this.pages.get(key)}</description></item>`;
  }

  #bodyOf(path: string): { readonly body: string | Buffer; readonly type: string } | null {
    const entries = [...this.pages.keys()];
    const urls = entries.map((key) => `<url><loc>${this.url}${key}</loc></url>`).join('');
    switch (path) {
      case '':
        return { body: this.index, type: 'text/html; charset=utf-8' };
      case 'robots.txt':
        return { body: this.robots, type: 'text/plain' };
      case 'sitemap.xml':
        return { body: `<?xml version="1.0"?><urlset>${urls}</urlset>`, type: 'application/xml' };
      case 'sitemaps.xml.gz':
        return {
          body: gzipSync(
            `<sitemapindex><sitemap><loc>${this.url}sitemap.xml.gz</loc></sitemap></sitemapindex>`,
          ),
          type: 'application/octet-stream',
        };
      case 'sitemap.xml.gz':
        return { body: gzipSync(`<urlset>${urls}</urlset>`), type: 'application/gzip' };
      case 'feed.xml':
        return {
          body: `<rss version="2.0"><channel><title>Feed</title>${entries.map((key) => this.entryOf(key)).join('')}</channel></rss>`,
          type: 'application/rss+xml',
        };
      default: {
        const body = this.pages.get(path);
        return body === undefined
          ? null
          : { body, type: path.endsWith('.html') ? 'text/html; charset=utf-8' : 'text/plain' };
      }
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? '/', this.url).pathname.slice(1);
    const page = this.#bodyOf(path);
    const etag = `"${sha256(page?.body ?? '')}"`;
    const isKnown = page !== null && request.headers['if-none-match'] === etag;
    const status = this.failure ?? (page === null ? 404 : isKnown ? 304 : 200);
    this.requests.push(`${status} /${path}`);
    response.writeHead(status, {
      'content-type': page?.type ?? 'text/plain',
      etag,
      ...this.headers.get(path),
    });
    response.end(status === 200 ? page?.body : undefined);
  }
}
