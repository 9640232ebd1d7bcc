import { createHtmlPagePolicy, escapeHtml, renderHtmlPage } from '../../core/html-page.ts';
import { docsStyle } from './docs-style.ts';

export const docsPolicy = createHtmlPagePolicy(docsStyle);

interface NavigationLink {
  readonly title: string;
  readonly address: string;
}

export interface NavigationSection {
  readonly title: string;
  readonly links: readonly NavigationLink[];
}

/** A heading of a page. */
export interface OutlineLink {
  readonly title: string;
  readonly anchor: string;
}

interface FramedPage {
  readonly title: string;
  readonly address: string;
  /** HTML with all variable parts already escaped. */
  readonly html: string;
  readonly navigation: readonly NavigationSection[];
  /** Listed beside the page on wide screens. */
  readonly outline?: readonly OutlineLink[];
  readonly query?: string;
}

/** Fewer headings are in view without a list. */
const outlineEntriesMin = 2;

/**
 * Renders a page of the documentation with the search box, the sidebar and the outline. On narrow screens, the sidebar is a
 * closed list above the page: without a script, one element cannot be open on wide screens and closed on narrow ones.
 */
export function renderFrame(page: FramedPage): string {
  const { title, address, navigation, outline = [] } = page;
  const links = renderNavigation(navigation, address);
  const isOutlined = outline.length >= outlineEntriesMin;
  const body = `<a class="skip" href="${escapeHtml(address)}#page-content">Skip to the content</a>
${renderTop(page.query ?? '')}
<details class="contents"><summary><span>Contents <span class="soft">· ${escapeHtml(title)}</span></span></summary>${links}</details>
<div class="columns${isOutlined ? ' outlined' : ''}"><div class="side">${links}</div>
<div class="docs" id="page-content" tabindex="-1">${renderCrumb(navigation, address)}${page.html}${renderPager(navigation, address)}</div>${isOutlined ? renderOutline(outline, address) : ''}</div><div class="end"></div>`;
  return renderHtmlPage({ title: `${title} · Quarry`, body, extraStyle: docsStyle });
}

function renderTop(query: string): string {
  const search = `<form action="/docs/search" role="search"><input type="search" name="q" aria-label="Search the documentation" placeholder="Search" maxlength="200" value="${escapeHtml(query)}"><button>Search</button></form>`;
  return `<div class="top"><strong><a href="/docs">Quarry documentation</a></strong>${search}<a href="/app/">Dashboard</a><a class="extra" href="/openapi.json">OpenAPI</a></div>`;
}

function renderNavigation(navigation: readonly NavigationSection[], address: string): string {
  const sections = navigation.map((section) => {
    const links = section.links.map(
      (link) =>
        `<li><a href="${escapeHtml(link.address)}"${link.address === address ? ' aria-current="page"' : ''}>${escapeHtml(link.title)}</a></li>`,
    );
    return `<h2>${escapeHtml(section.title)}</h2><ul>${links.join('')}</ul>`;
  });
  return `<nav aria-label="Documentation">${sections.join('')}</nav>`;
}

function renderOutline(outline: readonly OutlineLink[], address: string): string {
  const links = outline.map(
    ({ title, anchor }) =>
      `<li><a href="${escapeHtml(`${address}#${anchor}`)}">${escapeHtml(title)}</a></li>`,
  );
  return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${links.join('')}</ul></nav>`;
}

/** The section of the page. */
function renderCrumb(navigation: readonly NavigationSection[], address: string): string {
  const section = navigation.find(({ links }) => links.some((link) => link.address === address));
  return section === undefined ? '' : `<p class="crumb soft">${escapeHtml(section.title)}</p>`;
}

/** Links to the pages before and after a page. */
function renderPager(navigation: readonly NavigationSection[], address: string): string {
  const links = navigation.flatMap((section) => section.links);
  const index = links.findIndex((link) => link.address === address);
  if (index === -1) return '';
  const renderLink = (link: NavigationLink | undefined, label: string, name: string) =>
    link === undefined
      ? ''
      : `<a class="${name}" href="${escapeHtml(link.address)}"><span>${label}</span>${escapeHtml(link.title)}</a>`;
  const previous = renderLink(links[index - 1], 'Previous', 'previous');
  const next = renderLink(links[index + 1], 'Next', 'next');
  return `<div class="pager">${previous}${next}</div>`;
}
