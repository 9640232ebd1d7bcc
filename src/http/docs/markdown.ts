import { escapeHtml } from '../../core/html-page.ts';

/**
 * Renders the Markdown of the pages in docs/: headings, paragraphs, flat lists, tables, fenced code, links, code
 * spans and emphasis. All other text is escaped, so a page cannot add elements of its own.
 */

export interface MarkdownPage {
  readonly title: string;
  readonly html: string;
  /** Text below each heading, for search. */
  readonly sections: readonly MarkdownSection[];
}

export interface MarkdownSection {
  /** 1 to 6. */
  readonly level: number;
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
  /** Paragraphs and items of lists, without tables and code. */
  readonly prose: string;
}

/** Returns the address of a link target in a page; null if the documentation does not contain the target. */
export type LinkResolver = (target: string) => string | null;

/** Returns the anchor that GitHub generates for a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

export function renderMarkdown(source: string, resolve: LinkResolver): MarkdownPage {
  const renderer = new Renderer(resolve);
  const html = renderer.renderBlocks(source.split('\n'));
  const sections = renderer.sections.map(({ lines, proseLines, ...section }) => ({
    ...section,
    text: lines.join('\n'),
    prose: proseLines.join('\n'),
  }));
  return { title: sections[0]?.heading ?? '', html, sections };
}

const headingLine = /^(#{1,6}) (.+)$/;
const fenceLine = /^( *)```(\S*)/;
const itemLine = /^(?:-|(\d+)\.) +(.*)$/;
const inlineElement =
  /`([^`]+)`|!\[([^\]]*)\]\([^)\s]+\)|\[((?:[^[\]`]|`[^`]*`)*)\]\(([^)\s]+)\)|\*\*(.+?)\*\*|(?<!\w)\*([^*\s][^*]*)\*|\\([\\`*_|<>[\]])/gs;

class Renderer {
  readonly sections: (Omit<MarkdownSection, 'text' | 'prose'> & {
    readonly lines: string[];
    readonly proseLines: string[];
  })[] = [];
  readonly #resolve: LinkResolver;
  readonly #anchors = new Map<string, number>();

  constructor(resolve: LinkResolver) {
    this.#resolve = resolve;
  }

  renderBlocks(lines: readonly string[]): string {
    const blocks: string[] = [];
    for (let start = 0; start < lines.length; ) {
      const end = findBlockEnd(lines, start);
      blocks.push(this.#renderBlock(lines.slice(start, end)));
      start = end;
    }
    return blocks.join('\n');
  }

  #renderBlock(lines: readonly string[]): string {
    const [first = ''] = lines;
    const [, marks, heading] = headingLine.exec(first) ?? [];
    if (marks !== undefined && heading !== undefined) return this.#renderHeading(marks.length, heading);
    if (first.trim() === '' || first.startsWith('<!--')) return '';
    if (fenceLine.test(first)) return this.#renderCode(lines);
    if (itemLine.test(first)) return this.#renderList(lines);
    this.sections.at(-1)?.lines.push(...lines);
    if (first.startsWith('|')) return this.#renderTable(lines);
    this.sections.at(-1)?.proseLines.push(...lines);
    return `<p>${this.#renderInline(lines.join('\n'))}</p>`;
  }

  #renderHeading(level: number, heading: string): string {
    const base = anchorOf(heading);
    const uses = this.#anchors.get(base) ?? 0;
    this.#anchors.set(base, uses + 1);
    const anchor = uses === 0 ? base : `${base}-${uses}`;
    this.sections.push({ level, heading: heading.replaceAll('`', ''), anchor, lines: [], proseLines: [] });
    return `<h${level} id="${escapeHtml(anchor)}">${this.#renderInline(heading)}</h${level}>`;
  }

  #renderCode(lines: readonly string[]): string {
    const indent = fenceLine.exec(lines[0] ?? '')?.[1]?.length ?? 0;
    const code = lines.slice(1, -1).map((line) => line.slice(indent));
    this.sections.at(-1)?.lines.push(...code);
    return `<pre tabindex="0"><code>${escapeHtml(code.join('\n'))}</code></pre>`;
  }

  #renderList(lines: readonly string[]): string {
    const items: string[][] = [];
    for (const line of lines) {
      const text = itemLine.exec(line)?.[2];
      if (text === undefined) items.at(-1)?.push(line.replace(/^ {1,3}/, ''));
      else items.push([text]);
    }
    const rendered = items.map((item) => `<li>${this.renderBlocks(item)}</li>`).join('');
    const first = itemLine.exec(lines[0] ?? '')?.[1];
    return first === undefined ? `<ul>${rendered}</ul>` : `<ol start="${first}">${rendered}</ol>`;
  }

  #renderTable(lines: readonly string[]): string {
    const rows = lines.map((line) =>
      line
        .trim()
        .replace(/^\||\|$/g, '')
        .split(/(?<!\\)\|/)
        .map((cell) => this.#renderInline(cell.trim().replaceAll('\\|', '|'))),
    );
    const [head = [], , ...body] = rows;
    const headCells = head.map((cell) => `<th scope="col">${cell}</th>`).join('');
    const bodyRows = body.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
    return `<div class="wide" tabindex="0"><table><thead><tr>${headCells}</tr></thead><tbody>${bodyRows.join('')}</tbody></table></div>`;
  }

  #renderInline(text: string): string {
    let html = '';
    let end = 0;
    for (const match of text.matchAll(inlineElement)) {
      html += escapeHtml(text.slice(end, match.index)) + this.#renderElement(match);
      end = match.index + match[0].length;
    }
    return html + escapeHtml(text.slice(end));
  }

  #renderElement([, code, picture, label, target, strong, emphasis, escaped]: RegExpMatchArray): string {
    if (code !== undefined) return `<code>${escapeHtml(code)}</code>`;
    if (picture !== undefined) return `<em>${escapeHtml(picture)}</em>`;
    if (strong !== undefined) return `<strong>${this.#renderInline(strong)}</strong>`;
    if (emphasis !== undefined) return `<em>${this.#renderInline(emphasis)}</em>`;
    if (label === undefined || target === undefined) return escapeHtml(escaped ?? '');
    const address = this.#resolve(target);
    const text = this.#renderInline(label);
    return address === null ? text : `<a href="${escapeHtml(address)}">${text}</a>`;
  }
}

/** Returns the line after the block that begins at `start`. */
function findBlockEnd(lines: readonly string[], start: number): number {
  const first = lines[start] ?? '';
  if (first.trim() === '' || headingLine.test(first)) return start + 1;
  if (fenceLine.test(first)) return findFenceEnd(lines, start);
  const isList = itemLine.test(first);
  for (let end = start + 1; end < lines.length; end++) {
    const line = lines[end] ?? '';
    if (isList ? !continuesList(lines, end) : startsBlock(line)) return end;
    if (isList && fenceLine.test(line)) end = findFenceEnd(lines, end) - 1;
  }
  return lines.length;
}

function findFenceEnd(lines: readonly string[], start: number): number {
  const end = lines.findIndex((line, index) => index > start && fenceLine.test(line));
  return end === -1 ? lines.length : end + 1;
}

function startsBlock(line: string): boolean {
  return line.trim() === '' || [headingLine, fenceLine, itemLine].some((each) => each.test(line));
}

/** An empty line continues a list if an indented line or an item follows. */
function continuesList(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? '';
  if (itemLine.test(line)) return true;
  if (line.trim() !== '') return line.startsWith(' ') || !startsBlock(line);
  const next = lines[index + 1] ?? '';
  return next.startsWith('  ') || itemLine.test(next);
}
