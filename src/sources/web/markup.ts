import type { Handler, ParserOptions } from 'htmlparser2';
import { AppError } from '../../core/app-error.ts';
import { toTimestamp } from '../../core/timestamps.ts';

/** Links and directives of an HTML page. */
export interface PageLinks {
  readonly links: readonly string[];
  /** `noindex`: the page is not a document. `nofollow`: its links are not followed. */
  readonly directives: ReadonlySet<string>;
}

/** Characters that are parsed in one turn of the event loop. */
const turnUnits = 65_536;
const linksMax = 5_000;
const depthMax = 64;

/** The first call loads the parser, which a server without sources of this kind does not need. */
async function parse(text: string, handler: Partial<Handler>, options: ParserOptions = {}): Promise<void> {
  const { Parser } = await import('htmlparser2');
  const parser = new Parser(handler, options);
  for (let at = 0; at < text.length; at += turnUnits) {
    parser.write(text.slice(at, at + turnUnits));
    await new Promise((resolve) => setImmediate(resolve));
  }
  parser.end();
}

export async function readPageLinks(html: string, url: URL): Promise<PageLinks> {
  const links = new Set<string>();
  const directives = new Set<string>();
  let base = url.href;
  await parse(html, {
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

/** An element of an XML file with the text directly in it. */
interface TextElement {
  readonly path: string;
  readonly attributes: Readonly<Record<string, string>>;
  text: string;
}

/** Calls `onElement` at the end of each element. `path`: local names from the root, such as `urlset/url/loc`. */
async function readElements(xml: string, onElement: (element: TextElement) => void): Promise<void> {
  const open: TextElement[] = [];
  await parse(
    xml,
    {
      onopentag(name, attributes) {
        const local = name.slice(name.indexOf(':') + 1).toLowerCase();
        const parent = open.at(-1);
        if (open.length >= depthMax)
          throw new AppError('bad_gateway', `The XML has more than ${depthMax} levels.`);
        open.push({ path: parent === undefined ? local : `${parent.path}/${local}`, attributes, text: '' });
      },
      ontext(text) {
        const element = open.at(-1);
        if (element !== undefined) element.text += text;
      },
      onclosetag() {
        const element = open.pop();
        if (element === undefined) return;
        onElement(element);
        // Content of the type `xhtml` is in elements.
        const parent = open.at(-1);
        if (parent !== undefined && open.length > 2) parent.text += `${element.text} `;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
}

/** URLs of pages and of further sitemaps. */
export async function readSitemap(xml: string): Promise<{ pages: string[]; sitemaps: string[] }> {
  const [pages, sitemaps]: [string[], string[]] = [[], []];
  await readElements(xml, ({ path, text }) => {
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
  await readElements(xml, ({ path, text, attributes }) => {
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
