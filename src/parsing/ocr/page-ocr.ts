import type { ParseLimits } from '../limits.ts';
import { formatPageRanges } from '../page-text.ts';
import { ParseFailure } from '../parse-failure.ts';
import type { DocumentTools, OcrText, ToolReply } from '../tools/document-tools.ts';

/** Share of the time for a document that reading its images may take, so that what was read is also kept. */
const ocrShareOfTotalMax = 0.8;

/**
 * Turns in which a page is looked at when it makes no sense upright. The engines turn columns of text themselves, one way.
 */
const rotationsDegrees = [180, 90] as const;
/** Mean confidence of words at which a page is the right way up, and what another side must gain to be it. */
const goodConfidenceMin = 70;
const confidenceGainMin = 5;
/** Mean confidence below which many words of a page are wrong, or all of them: those of another writing, for one. */
const doubtfulConfidenceMax = 60;

/** A page as it looks. */
export interface PageOcrImage {
  /** PNG for OCR, turned clockwise by so many degrees. */
  renderPng(degrees: number): Promise<Uint8Array>;
  /** By how many degrees its lines lie askew, clockwise. */
  measureSkew(): Promise<number>;
}

/**
 * Reads the text of page images, one after the other, within the budgets of one document. What could not be read is told
 * in warnings and costs only those pages.
 */
export class PageOcr {
  readonly #tools: DocumentTools;
  readonly #limits: ParseLimits;
  readonly #startedAt = performance.now();
  /** Pages that were not read, by the reason. */
  readonly #skippedPages = new Map<string, number[]>();
  /** Pages where the engine saw something like words, but believed in none. */
  readonly #wordlessPages: number[] = [];
  /** Pages whose words are kept although the engine half believes in them. */
  readonly #doubtfulPages: number[] = [];
  #missingToolMessage: string | null = null;
  #pageCount = 0;

  constructor(tools: DocumentTools, limits: ParseLimits) {
    this.#tools = tools;
    this.#limits = limits;
  }

  /**
   * Text of a page, empty where its image holds none; null when it was not read. A page that went askew through the scanner
   * is straightened first; one whose words the engine doubts is also looked at from the other sides.
   */
  async recognize(page: number, pageImage: PageOcrImage): Promise<string | null> {
    const stopReason = this.#findStopReason();
    if (stopReason !== null) return this.#skipPage(page, stopReason);
    this.#pageCount += 1;
    const deskewDegrees = -(await pageImage.measureSkew());
    const uprightText = this.#toText(page, await this.#recognizeRotated(pageImage, deskewDegrees));
    if (uprightText === null) return null;
    let best = uprightText;
    for (const degrees of rotationsDegrees) {
      if (best.confidence === 0 || best.confidence >= goodConfidenceMin || this.#findStopReason() !== null)
        break;
      const reply = await this.#recognizeRotated(pageImage, deskewDegrees + degrees);
      if (reply.kind === 'text' && reply.confidence > best.confidence + confidenceGainMin) best = reply;
    }
    if (best.text === '' && best.confidence > 0) this.#wordlessPages.push(page);
    if (best.text !== '' && best.confidence < doubtfulConfidenceMax) this.#doubtfulPages.push(page);
    return best.text;
  }

  async #recognizeRotated(pageImage: PageOcrImage, degrees: number): Promise<ToolReply> {
    const image = await pageImage.renderPng(degrees);
    return await this.#tools.request({ kind: 'recognise', image, msLeft: this.#msLeft() });
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
        throw new ParseFailure('crash', 'The OCR engine answered something that was not asked.');
    }
  }

  /** Whole sentences about the pages that were not read, or in vain. */
  listWarnings(): string[] {
    const warnings = [...this.#skippedPages].map(
      ([reason, pages]) =>
        `The text in the images of these pages was not read: ${formatPageRanges(pages)}. ${reason}`,
    );
    const [wordless, doubtful] = [
      formatPageRanges(this.#wordlessPages),
      formatPageRanges(this.#doubtfulPages),
    ];
    if (wordless !== '') {
      warnings.push(
        `No words could be made out in the images of these pages: ${wordless}. If they hold some, they may be in a language that OCR is not told to read.`,
      );
    }
    if (doubtful !== '') {
      warnings.push(
        `Many words in the images of these pages may be wrong: ${doubtful}. They are hard to make out, or in a language that OCR is not told to read.`,
      );
    }
    return warnings;
  }

  /** Why nothing more is read of this document; null while there is room. */
  #findStopReason(): string | null {
    const { ocrPagesMax } = this.#limits;
    if (this.#missingToolMessage !== null) return this.#missingToolMessage;
    if (this.#pageCount >= ocrPagesMax) return `At most ${ocrPagesMax} pages of a document are read so.`;
    return this.#msLeft() > 0 ? null : this.#timeUsedUpMessage();
  }

  #timeUsedUpMessage(): string {
    return `The time for reading images, ${Math.round(this.#msMax() / 1_000)} s a document, was used up.`;
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
