import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { AppError } from '../../core/app-error.ts';
import { escapeHtml } from '../../core/html-page.ts';
import { projectRoot } from '../../core/root.ts';
import type { Route } from '../routes/route.ts';
import { DocsSearch, type SearchEntry } from './docs-search.ts';
import { type MarkdownPage, renderMarkdown } from './markdown.ts';
import {
  groupOperations,
  type OperationGroup,
  operationAnchor,
  renderOperationList,
  renderOperations,
  titleOf,
} from './operations.ts';
import { type NavigationSection, type OutlineLink, renderFrame } from './page-frame.ts';
import { renderResults } from './search-results.ts';
import { renderStart } from './start-page.ts';

const docsFolder = join(projectRoot, 'docs');
const indexFile = 'README.md';
const queryUnitsMax = 200;

interface Page {
  readonly title: string;
  readonly html: string;
  readonly outline: readonly OutlineLink[];
}

/**
 * The documentation: the Markdown files of docs/ and the operations of the route table. All pages are rendered
 * when the first one is requested, so that no later request reaches the disk.
 */
export class DocsSite {
  /** By path below `/docs/`. */
  readonly #pages = new Map<string, Page>();
  readonly #navigation: readonly NavigationSection[];
  readonly #search: DocsSearch;

  constructor(routes: readonly Route[]) {
    const groups = groupOperations(routes);
    const sources = readSources();
    const entries: SearchEntry[] = [];
    for (const [file, source] of sources) {
      const page = renderMarkdown(source, (target) => resolveLink(target, file, sources));
      const outline = page.sections.filter(({ level }) => level === 2);
      this.#pages.set(pathOf(file), {
        title: page.title,
        html: page.html,
        outline: outline.map(({ heading, anchor }) => ({ title: heading, anchor })),
      });
      if (file !== indexFile) entries.push(...markdownEntries(file, page));
    }
    for (const group of groups) {
      this.#pages.set(`api/${group.tag}`, {
        title: titleOf(group.tag),
        html: renderOperations(group),
        outline: group.routes.map((route) => ({ title: route.summary, anchor: operationAnchor(route) })),
      });
      entries.push(...operationEntries(group));
    }
    this.#addStartPage(groups);
    this.#navigation = [...readNavigation(sources), operationNavigation(groups)];
    this.#search = new DocsSearch(entries);
  }

  /** Returns a page by its path below `/docs/`; the empty path is the start page. Errors: 404. */
  page(path: string): string {
    const page = this.#pages.get(path);
    if (page === undefined)
      throw new AppError('not_found', 'This page of the documentation does not exist. See /docs.');
    return renderFrame({ ...page, address: addressOf(path), navigation: this.#navigation });
  }

  /** Returns the page with the results of a search. Errors: 400 for a long query. */
  search(query: string): string {
    if (query.length > queryUnitsMax)
      throw new AppError('bad_request', `The search is too long. Use at most ${queryUnitsMax} characters.`);
    const html = `<h1>Search</h1>${renderResults(this.#search.find(query), query)}`;
    return renderFrame({ title: 'Search', address: '', html, query, navigation: this.#navigation });
  }

  /** The start page lists every page and every operation. */
  #addStartPage(groups: readonly OperationGroup[]): void {
    const start = this.#pages.get('') ?? { title: 'Documentation', html: '', outline: [] };
    const lists = groups.map(
      (group) =>
        `<h3 id="api-${group.tag}">${escapeHtml(titleOf(group.tag))}</h3>${renderOperationList(group)}`,
    );
    const lead =
      '<p>OpenAPI documents: <a href="/openapi.json">openapi.json</a> and <a href="/api/openapi.json">api/openapi.json</a>.</p>';
    const html = `${renderStart(start.html)}<h2 id="api">API</h2>${lead}${lists.join('')}`;
    this.#pages.set('', { ...start, html, outline: [...start.outline, { title: 'API', anchor: 'api' }] });
  }
}

/** Text of each Markdown file, by its path below docs/. */
function readSources(): ReadonlyMap<string, string> {
  const names = readdirSync(docsFolder, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.md')).sort();
  return new Map(
    files.map((name) => [name.split(sep).join('/'), readFileSync(join(docsFolder, name), 'utf8')]),
  );
}

/** "operate/backup.md" -> "operate/backup"; a README is the page of its folder. */
function pathOf(file: string): string {
  return file.replace(/(^|\/)README\.md$/, '').replace(/\.md$/, '');
}

function addressOf(path: string): string {
  return path === '' ? '/docs' : `/docs/${path}`;
}

/** Files outside docs/ are not served; their links become plain text. */
function resolveLink(target: string, file: string, sources: ReadonlyMap<string, string>): string | null {
  if (/^https?:/.test(target)) return target;
  const [path = '', anchor] = target.split('#');
  const linked = path === '' ? file : posix.join(posix.dirname(file), path);
  if (!sources.has(linked)) return null;
  return addressOf(pathOf(linked)) + (anchor === undefined ? '' : `#${anchor}`);
}

/** The sections of the sidebar are those of docs/README.md. */
function readNavigation(sources: ReadonlyMap<string, string>): NavigationSection[] {
  const [, ...sections] = (sources.get(indexFile) ?? '').split(/^## /m);
  return sections.map((section) => ({
    title: section.split('\n', 1)[0] ?? '',
    links: [...section.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\)/gm)].flatMap(([, title = '', target = '']) => {
      const address = resolveLink(target, indexFile, sources);
      return address === null ? [] : { title, address };
    }),
  }));
}

function operationNavigation(groups: readonly OperationGroup[]): NavigationSection {
  const links = groups.map(({ tag }) => ({ title: titleOf(tag), address: addressOf(`api/${tag}`) }));
  return { title: 'API', links };
}

function markdownEntries(file: string, { title, sections }: MarkdownPage): SearchEntry[] {
  return sections.map(({ heading, anchor, text, prose }) => ({
    page: title,
    heading,
    address: `${addressOf(pathOf(file))}#${anchor}`,
    text,
    prose,
  }));
}

function operationEntries({ tag, routes }: OperationGroup): SearchEntry[] {
  return routes.map((route) => ({
    page: titleOf(tag),
    heading: route.summary,
    address: `${addressOf(`api/${tag}`)}#${operationAnchor(route)}`,
    text: `${route.path} ${route.description}`,
    prose: route.description,
  }));
}
