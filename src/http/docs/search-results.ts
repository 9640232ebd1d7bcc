import { escapeHtml } from '../../core/html-page.ts';
import { type SearchEntry, termsOf } from './docs-search.ts';

/** Room for about two lines. */
const excerptUnitsMax = 180;
/** Text before the first matching word, so that it is read in its sentence. */
const leadUnitsMax = 60;

/** Renders the sections that a search found, best first. Sections of one page are grouped at the best of them. */
export function renderResults(entries: readonly SearchEntry[], query: string): string {
  if (entries.length === 0)
    return `<p>${query.trim() === '' ? 'Enter words to search for.' : 'No page contains these words. Try fewer or other words.'}</p>`;
  const terms = new Set(termsOf(query));
  const groups = new Map<string, SearchEntry[]>();
  for (const entry of entries) groups.set(entry.page, [...(groups.get(entry.page) ?? []), entry]);
  const items = [...groups].map(([page, sections]) => {
    const links = sections.map((section) => renderSection(section, terms));
    return `<li><h2>${escapeHtml(page)}</h2><ul>${links.join('')}</ul></li>`;
  });
  const count = entries.length === 1 ? '1 section' : `${entries.length} sections`;
  return `<p class="soft">${count} for “${escapeHtml(query.trim())}”</p><ol class="found">${items.join('')}</ol>`;
}

function renderSection({ heading, address, text, prose }: SearchEntry, terms: ReadonlySet<string>): string {
  const excerpt = renderExcerpt(plainText(prose) || plainText(text), terms);
  return `<li><a href="${escapeHtml(address)}">${escapeHtml(heading)}</a><p class="soft">${excerpt}</p></li>`;
}

/** Removes the Markdown of a text. */
function plainText(source: string): string {
  return source
    .replace(/^\|[\s:|-]+\|$/gm, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`|\*\*/g, '')
    .replace(/^\||\|$/gm, ' ')
    .replace(/ *(?<!\\)\| */g, ' · ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Cuts a text at words around the first word of the query, and marks the words of the query. */
function renderExcerpt(text: string, terms: ReadonlySet<string>): string {
  const words = [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({ word, index }));
  const isMatch = ({ word }: { readonly word: string }) => termsOf(word).some((term) => terms.has(term));
  const firstMatch = words.find(isMatch)?.index ?? 0;
  const first = words.findIndex(({ index }) => index >= firstMatch - leadUnitsMax);
  const start = firstMatch <= leadUnitsMax ? 0 : Math.max(0, first);
  const limit = (words[start]?.index ?? 0) + excerptUnitsMax;
  const shown = words.slice(start).filter(({ word, index }) => index + word.length <= limit);
  const html = shown.map((each) => (isMatch(each) ? renderMatch(each.word) : escapeHtml(each.word)));
  const isCut = start + shown.length < words.length;
  return `${start > 0 ? '… ' : ''}${html.join(' ')}${isCut ? ' …' : ''}`;
}

/** Marks a word without the punctuation around it. */
function renderMatch(text: string): string {
  const [, before = '', word = '', after = ''] = /^([^\p{L}\p{N}]*)(.*?)([^\p{L}\p{N}]*)$/u.exec(text) ?? [];
  return `${escapeHtml(before)}<mark>${escapeHtml(word)}</mark>${escapeHtml(after)}`;
}
