import { isProbablyReaderable, Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { escapeHtml } from '../../core/html-page.ts';

/** Characters of text that a `main` element needs; one with less is often filled in by scripts. */
const mainUnitsMin = 200;

/**
 * Returns a page with the main content of a page only; null if none is found. The `main` element is preferred: Readability
 * is made for articles and omits parts of reference pages. Takes about a second of CPU time per megabyte, and more for deep
 * trees.
 */
export function extractMainContent(html: string): string | null {
  const { document } = parseHTML(withBody(html));
  // `document.title` ignores a title outside of a head.
  const title = document.querySelector('title')?.textContent.trim() ?? '';
  const language = document.documentElement?.getAttribute('lang') ?? null;
  const mains = [...document.querySelectorAll('main, [role=main]')];
  const [main] = mains;
  if (main !== undefined && mains.length === 1) {
    for (const navigation of main.querySelectorAll('nav')) navigation.remove();
    if (main.textContent.trim().length >= mainUnitsMin)
      return renderPage({ title, language, content: main.innerHTML });
  }
  if (!isProbablyReaderable(document)) return null;
  const article = new Readability(document).parse();
  if (article?.content == null) return null;
  // It removes a heading that repeats the title.
  const heading = `<h1>${escapeHtml(article.title || title)}</h1>\n`;
  return renderPage({ title, language, content: `${heading}${article.content}` });
}

/** Adds the tags of the body, which are optional: linkedom does not, and Readability requires them. */
function withBody(html: string): string {
  if (/<body[\s>]/i.test(html)) return html;
  const [start = '<html>'] = /<html(\s[^>]*)?>/i.exec(html) ?? [];
  return `${start}<body>${html.replace(/<!doctype[^>]*>|<\/?(html|head)(\s[^>]*)?>/gi, '')}</body></html>`;
}

interface PageParts {
  readonly title: string;
  readonly language: string | null;
  /** HTML. */
  readonly content: string;
}

function renderPage({ title, language, content }: PageParts): string {
  const attribute = language === null ? '' : ` lang="${escapeHtml(language)}"`;
  return `<!doctype html>\n<html${attribute}><head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>\n<body>${content}</body></html>\n`;
}
