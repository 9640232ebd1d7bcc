import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { TextBudget } from '../../text-budget.ts';
import type { XmlReader } from '../../xml-reader.ts';
import type { ZipArchive } from '../../zip.ts';
import { openPart, resolvePart } from '../office/office-package.ts';

/**
 * Reads the charts of an OpenDocument file; each is an embedded document. Source: OASIS OpenDocument 1.3,
 * part 3.
 */
export class OpenDocumentObjects {
  /** Complete sentences about omitted content. */
  readonly warnings = new Set<string>();
  readonly #archive: ZipArchive;
  readonly #limits: ParseLimits;
  readonly #budget: TextBudget;

  constructor(archive: ZipArchive, limits: ParseLimits, budget: TextBudget) {
    this.#archive = archive;
    this.#limits = limits;
    this.#budget = budget;
  }

  /**
   * Returns the titles and table rows of the object at the position of the reader, without duplicate lines.
   */
  readLinesAt(reader: XmlReader): string[] {
    const part = resolvePart('', `${reader.findAttribute('href') ?? ''}/content.xml`);
    if (part === 'content.xml' || !this.#archive.has(part)) return [];
    try {
      return readOpenDocumentObjectLines(openPart(this.#archive, part, this.#limits), this.#budget);
    } catch (error) {
      if (!(error instanceof ParseFailure) || error.code !== 'corrupt') throw error;
      this.warnings.add('A damaged chart was skipped.');
      return [];
    }
  }
}

/** Returns the titles and table rows of a chart, without duplicate lines. */
export function readOpenDocumentObjectLines(reader: XmlReader, budget: TextBudget): string[] {
  const lines = new Set<string>();
  let cells: string[] = [];
  let inRow = false;
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    const ends = token === 'close' && reader.name === 'table-row';
    if (token === 'open' && reader.name === 'table-row') inRow = true;
    else if (token === 'open' && reader.name === 'p') {
      const text = reader.readText().replace(/\s+/g, ' ').trim();
      budget.consume(text.length + 1);
      if (text !== '') cells.push(text);
    }
    if (ends) inRow = false;
    if (inRow || cells.length === 0) continue;
    lines.add(cells.join('\t'));
    cells = [];
  }
  return [...lines];
}
