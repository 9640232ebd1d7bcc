import { toTimestamp } from '../../core/timestamps.ts';
import { parseMarkup, readElements } from './elements.ts';

/** Links and directives of an HTML page. */
export interface PageLinks {
  readonly links: readonly string[];
  /** `noindex`: the page is not a document. `nofollow`: its links are not followed. */
  readonly directives: ReadonlySet<string>;
}

const linksMax = 5_000;

export async function readPageLinks(html: string, url: URL): Promise<PageLinks> {
  const links = new Set<string>();
  const directives = new Set<string>();
  let base = url.href;
  await parseMarkup([html], {
    onopentag(name, { href, rel, name: meta, content }) {
      if (name === 'base' && href !== undefined && URL.canParse(href, url.href))
        base = new URL(href, url).href;
      if (name === 'meta' && /^(robots|quarry)$/i.test(meta ?? ''))
        for (const directive of (content ?? '').toLowerCase().split(/[\s,]+/)) directives.add(directive);
      const isLink =
        (name === 'a' || name === 'area') && href !== undefined && !/\bnofollow\b/i.test(rel ?? '');
      if (isLink && links.size < linksMax && URL.canParse(href, base)) links.add(new URL(href, base).href);
    },
  });
  return { links: [...links], directives };
}

/** URLs of pages and of further sitemaps. */
export async function readSitemap(xml: string): Promise<{ pages: string[]; sitemaps: string[] }> {
  const [pages, sitemaps]: [string[], string[]] = [[], []];
  await readElements([xml], ({ path, text }) => {
    if (path === 'urlset/url/loc') pages.push(text.trim());
    if (path === 'sitemapindex/sitemap/loc') sitemaps.push(text.trim());
  });
  return { pages, sitemaps };
}

export interface FeedEntry {
  readonly id: string;
  readonly link: string | null;
  readonly title: string;
  /** HTML. */
  readonly content: string;
  readonly modifiedAt: string | null;
}

/** Reads RSS 0.9x, 1.0 and 2.0, and Atom. Returns null for other XML. */
export async function readFeed(xml: string): Promise<FeedEntry[] | null> {
  const entries: FeedEntry[] = [];
  let fields: Record<string, string> = {};
  let isFeed = false;
  await readElements([xml], ({ path, text, attributes }) => {
    const [root, ...rest] = path.split('/');
    if (root === 'rss' || root === 'rdf' || root === 'feed') isFeed = true;
    const entryAt = rest.findIndex((name) => name === 'item' || name === 'entry');
    if (entryAt === -1) return;
    const [field, ...deeper] = rest.slice(entryAt + 1);
    if (field === undefined) {
      const entry = toEntry(fields);
      if (entry !== null) entries.push(entry);
      fields = {};
    } else if (deeper.length === 0) {
      const { href, rel = 'alternate' } = attributes;
      const value = field === 'link' && href !== undefined ? (rel === 'alternate' ? href : '') : text.trim();
      if (value !== '') fields[field] ??= value;
    }
  });
  return isFeed ? entries : null;
}

function toEntry(fields: Readonly<Record<string, string>>): FeedEntry | null {
  const link = fields.link ?? null;
  const id = fields.guid ?? fields.id ?? link ?? fields.title;
  if (id === undefined) return null;
  const time = Date.parse(fields.updated ?? fields.pubdate ?? fields.date ?? fields.published ?? '');
  return {
    id,
    link,
    title: fields.title ?? '',
    content: fields.encoded ?? fields.content ?? fields.description ?? fields.summary ?? '',
    modifiedAt: Number.isNaN(time) ? null : toTimestamp(time),
  };
}
