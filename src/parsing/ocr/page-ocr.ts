import type { ParseLimits } from '../limits.ts';
import { formatPageRanges } from '../page-text.ts';
import { ParseFailure } from '../parse-failure.ts';
import type { PageText } from '../parsed-page.ts';
import type { DocumentTools, OcrText, ToolReply } from '../tools/document-tools.ts';
import { toPageLines } from './ocr-lines.ts';

/** Maximum share of a document's total time for OCR, so that enough time remains to store the result. */
const ocrShareOfTotalMax = 0.8;

/**
 * Rotations tried when the upright page yields doubtful text. The engines detect vertical text themselves, in
 * one direction.
 */
const rotationsDegrees = [180, 90] as const;
/**
 * Mean word confidence at which a page counts as upright, and the minimum gain for another rotation to be
 * preferred.
 */
const goodConfidenceMin = 70;
const confidenceGainMin = 5;
/**
 * Mean word confidence below which many words of a page are likely wrong, for example because of an
 * unconfigured script.
 */
const doubtfulConfidenceMax = 60;

/** Image of a page. */
export interface PageOcrImage {
  /** Returns a PNG for OCR, rotated clockwise by `degrees`. */
  renderPng(degrees: number): Promise<Uint8Array>;
  /** Returns the clockwise skew of the text lines in degrees. */
  measureSkew(): Promise<number>;
}

/**
 * Runs OCR on the pages of one document, one after the other, within its budgets. Pages that cannot be read
 * are reported in warnings and do not fail the document.
 */
export class PageOcr {
  readonly #tools: DocumentTools;
  readonly #limits: ParseLimits;
  readonly #startedAt = performance.now();
  /** Pages that were not read, by reason. */
  readonly #skippedPages = new Map<string, number[]>();
  /** Pages where the engine found possible words but rejected all of them. */
  readonly #wordlessPages: number[] = [];
  /** Pages whose words are kept despite a low confidence. */
  readonly #doubtfulPages: number[] = [];
  #missingToolMessage: string | null = null;
  #pageCount = 0;

  constructor(tools: DocumentTools, limits: ParseLimits) {
    this.#tools = tools;
    this.#limits = limits;
  }

  /**
   * Returns the text of a page, empty when the image contains none, or null when the page was not read. A
   * skewed page is straightened first; a page with low confidence is also tried in other rotations.
   */
  async recognize(page: number, pageImage: PageOcrImage): Promise<PageText | null> {
    const stopReason = this.#findStopReason();
    if (stopReason !== null) return this.#skipPage(page, stopReason);
    this.#pageCount += 1;
    const deskewDegrees = -(await pageImage.measureSkew());
    const uprightText = this.#toText(page, await this.#recognizeRotated(pageImage, deskewDegrees));
    if (uprightText === null) return null;
    let best = uprightText;
    let bestDegrees = deskewDegrees;
    for (const degrees of rotationsDegrees) {
      if (best.confidence === 0 || best.confidence >= goodConfidenceMin || this.#findStopReason() !== null)
        break;
      const reply = await this.#recognizeRotated(pageImage, deskewDegrees + degrees);
      if (reply.kind !== 'text' || reply.confidence <= best.confidence + confidenceGainMin) continue;
      [best, bestDegrees] = [reply, deskewDegrees + degrees];
    }
    if (best.text === '' && best.confidence > 0) this.#wordlessPages.push(page);
    if (best.text !== '' && best.confidence < doubtfulConfidenceMax) this.#doubtfulPages.push(page);
    return { text: best.text, lines: best.words === undefined ? [] : toPageLines(best.words, bestDegrees) };
  }

  async #recognizeRotated(pageImage: PageOcrImage, degrees: number): Promise<ToolReply> {
    const image = await pageImage.renderPng(degrees);
    return await this.#tools.request({ kind: 'recognize', image, msLeft: this.#msLeft() });
  }

  #toText(page: number, reply: ToolReply): OcrText | null {
    switch (reply.kind) {
      case 'text':
        return reply;
      case 'missing':
        this.#missingToolMessage = reply.message;
        return this.#skipPage(page, reply.message);
      case 'failed':
        return this.#skipPage(page, this.#msLeft() > 0 ? reply.message : this.#timeUsedUpMessage());
      case 'bytes':
      case 'file':
        throw new ParseFailure('crash', 'The OCR engine returned an unexpected reply.');
    }
  }

  /** Returns complete sentences about pages that were not read or yielded no reliable text. */
  listWarnings(): string[] {
    const warnings = [...this.#skippedPages].map(
      ([reason, pages]) => `Images on these pages were not read: ${formatPageRanges(pages)}. ${reason}`,
    );
    const [wordless, doubtful] = [
      formatPageRanges(this.#wordlessPages),
      formatPageRanges(this.#doubtfulPages),
    ];
    if (wordless !== '') {
      warnings.push(
        `OCR found no readable words on these pages: ${wordless}. If they contain text, add its language to QUARRY_OCR_LANGUAGES.`,
      );
    }
    if (doubtful !== '') {
      warnings.push(
        `OCR confidence is low on these pages: ${doubtful}. The scan may be poor, or its language may be missing from QUARRY_OCR_LANGUAGES.`,
      );
    }
    return warnings;
  }

  /** Returns why no more pages of this document are read; null while the budgets allow more. */
  #findStopReason(): string | null {
    const { ocrPagesMax } = this.#limits;
    if (this.#missingToolMessage !== null) return this.#missingToolMessage;
    if (this.#pageCount >= ocrPagesMax)
      return `The limit of ${ocrPagesMax} OCR pages per document was reached.`;
    return this.#msLeft() > 0 ? null : this.#timeUsedUpMessage();
  }

  #timeUsedUpMessage(): string {
    return `The OCR time limit of ${Math.round(this.#msMax() / 1_000)} s per document was reached.`;
  }

  #msMax(): number {
    return Math.min(this.#limits.ocrMsMax, this.#limits.totalMsMax * ocrShareOfTotalMax);
  }

  #msLeft(): number {
    return this.#msMax() - (performance.now() - this.#startedAt);
  }

  #skipPage(page: number, reason: string): null {
    const pages = this.#skippedPages.get(reason) ?? [];
    pages.push(page);
    this.#skippedPages.set(reason, pages);
    return null;
  }
}
