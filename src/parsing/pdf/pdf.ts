import type { ParseContext } from '../formats/format.ts';
import { PageOcr } from '../ocr/page-ocr.ts';
import { isUnreadable } from '../page-text.ts';
import { ParseFailure } from '../parse-failure.ts';
import type { PageText } from '../parsed-page.ts';
import type { DocumentDetails } from '../process/parse-task.ts';
import { TextBudget } from '../text-budget.ts';
import { needsOcr, recognizePage } from './pdf-ocr.ts';
import { checkedPagesMax, openSource } from './pdf-open.ts';
import { PageAssembler, type PageSource } from './pdf-page-assembler.ts';
import { listProblemWarnings, listRepetitionWarnings, type PageProblems } from './pdf-problems.ts';
import type { PageContent } from './pdf-source.ts';
import { cleanTitle, findLargestText } from './pdf-title.ts';
import { PdfjsDocument } from './pdfjs.ts';

/**
 * Parses a PDF with PDFium, or with pdf.js when PDFium reports a corrupted file. A page without text is an
 * empty page. Errors: `too_large`, `encrypted`, `corrupt`.
 */
export async function* parsePdf(
  bytes: Uint8Array,
  { limits, tools }: ParseContext,
): AsyncGenerator<PageText, DocumentDetails> {
  const warnings: string[] = [];
  const source = await openSource(bytes, limits, warnings);
  try {
    const count = source.pageCount;
    if (count > limits.pagesMax) {
      throw new ParseFailure('too_large', `The PDF has ${count} pages; the limit is ${limits.pagesMax}.`);
    }
    const problems: PageProblems = { empty: [], unreadable: [], broken: [], cut: [] };
    const budget = new TextBudget(limits.textUnitsMax);
    const assembly = new PageAssembler(count, source.outline);
    const pageOcr = new PageOcr(tools, limits);
    let largestText: string | null = null;
    for (let index = 0; index < count; index++) {
      tools.reportProgress({ stage: 'reading', page: index, of: count });
      const content = await source.pageContent(index);
      if (index === 0) largestText = findLargestText(content);
      const ocrText = needsOcr(content, source, index)
        ? await recognizePage({ source, index, count, pageOcr, tools })
        : null;
      for (const page of assembly.add(ocrText ?? toPageSource(content, index, problems))) {
        budget.consume(page.text.length);
        yield page;
      }
    }
    if (problems.broken.length === count) {
      throw new ParseFailure('corrupt', 'The PDF is damaged: none of its pages can be read.');
    }
    if (problems.empty.length + problems.broken.length === count) await reclassifyBlankPages(bytes, problems);
    warnings.push(
      ...listProblemWarnings(problems),
      ...pageOcr.listWarnings(),
      ...listRepetitionWarnings(assembly.removedLines),
    );
    const title = (await source.title()) ?? cleanTitle(largestText ?? '');
    return {
      headings: true,
      title,
      language: null,
      warnings,
    };
  } finally {
    await source.close();
  }
}

/**
 * Called for a document that appears to have no text: engines show pages as blank if they cannot decompress
 * the contents.
 */
async function reclassifyBlankPages(bytes: Uint8Array, problems: PageProblems): Promise<void> {
  const document = await PdfjsDocument.open(bytes, { strict: true });
  if (typeof document === 'string') return;
  try {
    for (const index of problems.empty.slice(0, checkedPagesMax)) {
      if ((await document.readPieces(index)) !== null) continue;
      problems.empty.splice(problems.empty.indexOf(index), 1);
      problems.broken.push(index);
    }
    problems.broken.sort((a, b) => a - b);
  } finally {
    await document.close();
  }
}

function toPageSource(content: PageContent | null, index: number, problems: PageProblems): PageSource {
  if (content === null) {
    problems.broken.push(index);
    return { text: '', lines: [] };
  }
  if (isUnreadable(content.characters)) {
    problems.unreadable.push(index);
    return { text: '', lines: [] };
  }
  if (content.cut) problems.cut.push(index);
  if (content.characters.visible === 0) problems.empty.push(index);
  return content.source;
}
