import type { DocumentTools, RecognisedText, ToolReply } from './document-tools.ts';
import type { ParseLimits } from './limits.ts';
import { pageRanges } from './page-text.ts';
import { ParseFailure } from './parse-failure.ts';

/** Share of the time for a document that reading its images may take, so that what was read is also kept. */
const shareOfTotal = 0.8;

/**
 * Turns in which a page is looked at when it makes no sense upright. The engines turn columns of text themselves, one way.
 */
const turns = [180, 90] as const;
/** Mean confidence of words at which a page is the right way up, and what another side must gain to be it. */
const confidenceGood = 70;
const confidenceGain = 5;
/** Mean confidence below which many words of a page are wrong, or all of them: those of another writing, for one. */
const confidenceDoubtful = 60;

/** A page as it looks. */
export interface PagePicture {
  /** PNG for OCR, turned clockwise by so many degrees. */
  png(turn: number): Promise<Uint8Array>;
  /** By how many degrees its lines lie askew, clockwise. */
  skew(): Promise<number>;
}

/**
 * Reads the text of page images, one after the other, within the budgets of one document. What could not be read is told
 * in warnings and costs only those pages.
 */
export class PageRecognition {
  readonly #tools: DocumentTools;
  readonly #limits: ParseLimits;
  readonly #startedAt = performance.now();
  /** Pages that were not read, by the reason. */
  readonly #unread = new Map<string, number[]>();
  /** Pages where the engine saw something like words, but believed in none. */
  readonly #doubted: number[] = [];
  /** Pages whose words are kept although the engine half believes in them. */
  readonly #doubtful: number[] = [];
  #missing: string | null = null;
  #pages = 0;

  constructor(tools: DocumentTools, limits: ParseLimits) {
    this.#tools = tools;
    this.#limits = limits;
  }

  /**
   * Text of a page, empty where its image holds none; null when it was not read. A page that went askew through the scanner
   * is straightened first; one whose words the engine doubts is also looked at from the other sides.
   */
  async read(page: number, picture: PagePicture): Promise<string | null> {
    const spent = this.#spent();
    if (spent !== null) return this.#leave(page, spent);
    this.#pages += 1;
    const straight = -(await picture.skew());
    const upright = this.#textOf(page, await this.#look(picture, straight));
    if (upright === null) return null;
    let best = upright;
    for (const turn of turns) {
      if (best.confidence === 0 || best.confidence >= confidenceGood || this.#spent() !== null) break;
      const reply = await this.#look(picture, straight + turn);
      if (reply.kind === 'text' && reply.confidence > best.confidence + confidenceGain) best = reply;
    }
    if (best.text === '' && best.confidence > 0) this.#doubted.push(page);
    if (best.text !== '' && best.confidence < confidenceDoubtful) this.#doubtful.push(page);
    return best.text;
  }

  async #look(picture: PagePicture, turn: number): Promise<ToolReply> {
    const image = await picture.png(turn);
    return await this.#tools.ask({ kind: 'recognise', image, msLeft: this.#msLeft() });
  }

  #textOf(page: number, reply: ToolReply): RecognisedText | null {
    switch (reply.kind) {
      case 'text':
        return reply;
      case 'missing':
        this.#missing = reply.message;
        return this.#leave(page, reply.message);
      case 'failed':
        return this.#leave(page, this.#msLeft() > 0 ? reply.message : this.#usedUp());
      case 'bytes':
      case 'file':
        throw new ParseFailure('crash', 'The OCR engine answered something that was not asked.');
    }
  }

  /** Whole sentences about the pages that were not read, or in vain. */
  warnings(): string[] {
    const warnings = [...this.#unread].map(
      ([reason, pages]) =>
        `The text in the images of these pages was not read: ${pageRanges(pages)}. ${reason}`,
    );
    const [doubted, doubtful] = [pageRanges(this.#doubted), pageRanges(this.#doubtful)];
    if (doubted !== '') {
      warnings.push(
        `No words could be made out in the images of these pages: ${doubted}. If they hold some, they may be in a language that OCR is not told to read.`,
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
  #spent(): string | null {
    const { ocrPagesMax } = this.#limits;
    if (this.#missing !== null) return this.#missing;
    if (this.#pages >= ocrPagesMax) return `At most ${ocrPagesMax} pages of a document are read so.`;
    return this.#msLeft() > 0 ? null : this.#usedUp();
  }

  #usedUp(): string {
    return `The time for reading images, ${Math.round(this.#msMax() / 1_000)} s a document, was used up.`;
  }

  #msMax(): number {
    return Math.min(this.#limits.ocrMsMax, this.#limits.totalMsMax * shareOfTotal);
  }

  #msLeft(): number {
    return this.#msMax() - (performance.now() - this.#startedAt);
  }

  #leave(page: number, reason: string): null {
    const pages = this.#unread.get(reason) ?? [];
    pages.push(page);
    this.#unread.set(reason, pages);
    return null;
  }
}
