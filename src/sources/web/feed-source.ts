import { createHash } from 'node:crypto';
import { AppError } from '../../core/app-error.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import type { Source, SourceChange, SourceContent, SourceItem, SourceListing } from '../source.ts';
import { type FeedEntry, readFeed } from './markup.ts';
import { textOf, type Validators, validatorsOf, type WebClient } from './web-client.ts';

export interface FeedSourceOptions {
  readonly url: URL;
  readonly client: WebClient;
  /** Whether documents are kept when their entries leave the feed. */
  readonly keepsRemoved: boolean;
}

/** Entries of an RSS or Atom feed. */
export class FeedSource implements Source {
  readonly #options: FeedSourceOptions;
  readonly #documents = new Map<string, string>();

  constructor(options: FeedSourceOptions) {
    this.#options = options;
  }

  async *listChanges(
    cursor: string | null,
    signal: AbortSignal,
  ): AsyncGenerator<SourceChange, SourceListing, void> {
    const { url, client, keepsRemoved } = this.#options;
    const known = cursor === null ? {} : (JSON.parse(cursor) as Validators);
    const reply = await client.follow(url, signal, known);
    if (reply.status === 304) return { cursor, isComplete: false };
    if (reply.status !== 200)
      throw new AppError('bad_gateway', `The feed ${url.href} replied with status ${reply.status}.`);
    const entries = await readFeed(textOf(reply));
    if (entries === null)
      throw new AppError('bad_gateway', `${url.href} is not an RSS or Atom feed. Check the URL.`);
    for (const entry of entries.slice(0, sourceLimits.feedEntriesMax)) {
      const key = keyOf(entry);
      if (this.#documents.has(key)) continue;
      const html = toHtml(entry);
      this.#documents.set(key, html);
      const metadata = {
        ...(entry.link === null ? {} : { source_url: entry.link }),
        ...(entry.modifiedAt === null ? {} : { modified_at: entry.modifiedAt }),
      };
      const version = createHash('sha256')
        .update(JSON.stringify([html, metadata]))
        .digest('hex');
      yield { type: 'item', item: { key, version, metadata } };
    }
    return { cursor: JSON.stringify(validatorsOf(reply)), isComplete: !keepsRemoved };
  }

  async read({ key }: SourceItem): Promise<SourceContent | null> {
    const html = this.#documents.get(key);
    return html === undefined ? null : { bytes: asStream(Buffer.from(html)) };
  }

  async exists(): Promise<boolean> {
    return false;
  }

  async close(): Promise<void> {}
}

export async function* asStream(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  yield bytes;
}

/** A readable name, and a hash of the ID, which makes it unique. */
function keyOf({ id, link, title }: FeedEntry): string {
  const path = link !== null && URL.canParse(link) ? new URL(link).pathname : title;
  const words = path.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 16);
  return `${[...words.slice(-8), hash].join('-').slice(-200)}.html`;
}

function toHtml({ title, content }: FeedEntry): string {
  const escaped = title.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign]!);
  return `<!doctype html>\n<html><head><meta charset="utf-8"><title>${escaped}</title></head>\n<body><h1>${escaped}</h1>\n${content}</body></html>\n`;
}
