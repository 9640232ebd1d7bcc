import { stat } from 'node:fs/promises';
import { defaultParseLimits, processLimits } from '../limits.ts';
import type { ParseFailureData } from '../parse-failure.ts';
import type { ParsedPage } from '../parsed-page.ts';
import type { Sandbox } from '../tools/sandbox.ts';
import type { ToolExecutor } from '../tools/tool-channel.ts';
import type {
  DocumentInfo,
  ParsedDocument,
  ParseOutcome,
  ParserTask,
  ParseTask,
  RenderOutcome,
  RenderTask,
} from './parse-task.ts';
import { type Attempt, type AttemptInput, type OnProgress, ParserAttempt } from './parser-attempt.ts';
import { ParserChild } from './parser-child.ts';

export interface ParserHostOptions {
  /** Compiled module that calls `serveParser`. */
  readonly entry: string;
  /** Absolute path of `prlimit`, or null. */
  readonly prlimit: string | null;
  readonly sandbox: Sandbox;
  /** Working directory of the process, see `ParserChildOptions`. */
  readonly workingFolder?: string;
  /**
   * Called for every process when it starts and ends, so that the main thread can kill processes that outlive
   * their owner.
   */
  readonly onProcess: (event: 'started' | 'ended', pid: number) => void;
  /** Runs external programs for documents; absent: none are available. */
  readonly tools?: ToolExecutor;
}

/** Remaining time below which a document is not tried again: timers may end a millisecond early. */
const retryMsMin = 1;

/**
 * Owns and supervises one restricted parser process: limits on time and output, replacement after many
 * documents or much memory, a retry in a fresh process when the first was lost, and a fresh process for each
 * organization. A document can only fail itself, never the server. Tasks run one at a time, in order.
 */
export class ParserHost {
  private readonly options: ParserHostOptions;
  private child: ParserChild | null = null;
  /** Organization whose documents the process reads. */
  private childOrganizationId: string | undefined;
  /** Fresh process for the next organization, used while organizations alternate. */
  private standby: Promise<ParserChild | null> | null = null;
  private standbyTimer: NodeJS.Timeout | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  constructor(options: ParserHostOptions) {
    this.options = options;
  }

  /**
   * Returns the document's pages, or the reason for failure. Rejects only for faults of this host. Aborting
   * `signal` ends the task with a `timeout` failure or removes it from the queue. Preferred to terminating
   * the worker thread, because the process is reaped here, while a terminated thread leaves a zombie.
   */
  parse(
    task: ParseTask,
    onProgress: OnProgress = () => {},
    signal: AbortSignal | null = null,
  ): Promise<ParseOutcome> {
    return this.enqueue(async () => {
      const limits = { ...defaultParseLimits, ...task.limits };
      const request: AttemptInput['request'] = (size, attemptLimits) => ({
        type: 'parse',
        size,
        path: task.path ?? null,
        limits: attemptLimits,
      });
      let pages: ParsedPage[] = [];
      const resetPages = () => {
        pages = [];
        return pages;
      };
      const attempt = await this.runAttempts(task, { limits, request, resetPages, onProgress, signal });
      return attempt.kind === 'parsed' ? toDocument(attempt.info, pages) : { failure: toFailure(attempt) };
    });
  }

  /** Returns the JPEG of a page; null if there is none. `signal` and rejections as for `parse`. */
  render(task: RenderTask, signal: AbortSignal | null = null): Promise<RenderOutcome> {
    return this.enqueue(async () => {
      const limits = { ...defaultParseLimits, ...task.limits };
      const request: AttemptInput['request'] = (size, attemptLimits) => ({
        type: 'render',
        size,
        page: task.page,
        widthMax: task.widthMax ?? limits.imageSideMax,
        dotsPerInch: task.dotsPerInch ?? 110,
        quality: task.quality ?? 78,
        limits: attemptLimits,
      });
      const attempt = await this.runAttempts(task, {
        limits,
        request,
        resetPages: () => [],
        onProgress: () => {},
        signal,
      });
      return attempt.kind === 'rendered' ? attempt.bytes : { failure: toFailure(attempt) };
    });
  }

  /** Kills the process at any moment; a running task ends with a failure. Idempotent. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([this.killChild(), this.endStandby()]);
    await this.queue; // waits until a process that was still starting is gone
    await this.endStandby();
  }

  private enqueue<T>(run: () => Promise<T>): Promise<T> {
    const result = this.queue.then(run);
    this.queue = result.catch(() => undefined); // the caller handles errors of `result`; the queue only waits
    return result;
  }

  private async runAttempts(task: ParserTask, input: AttemptInput): Promise<Attempt> {
    const { signal } = input;
    if (signal?.aborted) return canceledAttempt;
    const end = () => void this.killChild();
    signal?.addEventListener('abort', end, { once: true });
    try {
      return await this.attemptUntilEnd(task, input);
    } finally {
      signal?.removeEventListener('abort', end);
    }
  }

  /** Retries in a fresh process while the total time of the document lasts. */
  private async attemptUntilEnd(task: ParserTask, input: AttemptInput): Promise<Attempt> {
    const { file, organizationId } = task;
    const isCanceled = () => input.signal?.aborted === true;
    const { size } = await stat(file);
    const { fileBytesMax, totalMsMax } = input.limits;
    let msLeft = totalMsMax;
    if (size > fileBytesMax) return tooLargeAttempt(size, fileBytesMax);
    for (let number = 1; ; number++) {
      const child = await this.getChild(organizationId);
      if (isCanceled() || this.isClosed) {
        await this.killChild();
        return canceledAttempt;
      }
      const parserAttempt = new ParserAttempt(child, input, this.options.tools ?? null);
      const request = input.request(size, { ...input.limits, totalMsMax: msLeft });
      const attempt = await parserAttempt.run(file, request);
      msLeft -= parserAttempt.totalMs;
      if (attempt.kind === 'lost') await this.killChild();
      else if (needsReplacement(child, attempt.residentBytes)) await this.killChild();
      if (isCanceled()) return canceledAttempt;
      if (attempt.kind !== 'lost' || !isRetryable(attempt.failure) || this.isClosed) return attempt;
      if (number >= processLimits.attemptsMax || msLeft < retryMsMin) return attempt;
    }
  }

  /** Returns a living process that has read no documents of another organization. */
  private async getChild(organizationId: string | undefined): Promise<ParserChild> {
    if (this.isClosed) throw new Error('the parser host is closed');
    await new Promise((resolve) => setImmediate(resolve)); // lets a pending exit event of an idle process arrive
    const isOtherOrganization = this.child?.isAlive === true && this.childOrganizationId !== organizationId;
    if (this.child?.isAlive === true && !isOtherOrganization) return this.child;
    const [standbyChild] = await Promise.all([this.takeStandby(), this.killChild()]);
    this.child = standbyChild ?? (await this.startChild());
    this.childOrganizationId = organizationId;
    if (isOtherOrganization && !this.isClosed) this.prepareStandby();
    return this.child;
  }

  private startChild(): Promise<ParserChild> {
    const { onProcess, tools: _, ...options } = this.options;
    return ParserChild.start({ ...options, folders: [] }, onProcess);
  }

  /** Starts a standby process, so that a switch to the next organization does not wait for a start. */
  private prepareStandby(): void {
    this.standby = this.startChild().catch(() => null); // the start in `getChild` reports the error
    this.standbyTimer = setTimeout(() => void this.endStandby(), processLimits.standbyMs);
    this.standbyTimer.unref();
  }

  private async takeStandby(): Promise<ParserChild | null> {
    const { standby } = this;
    this.standby = null;
    clearTimeout(this.standbyTimer);
    const child = await standby;
    return child?.isAlive === true ? child : null;
  }

  private async endStandby(): Promise<void> {
    await (await this.takeStandby())?.kill();
  }

  private async killChild(): Promise<void> {
    const { child } = this;
    this.child = null;
    await child?.kill();
  }
}

function toDocument(info: DocumentInfo, pages: readonly ParsedPage[]): ParsedDocument {
  const texts = pages.map(({ text }) => text);
  if (pages.every(({ boxes }) => boxes === null)) return { ...info, pages: texts };
  return { ...info, pages: texts, boxes: pages.map(({ boxes }) => boxes) };
}

function tooLargeAttempt(size: number, bytesMax: number): Attempt {
  const message = `The file has ${size} bytes; the limit is ${bytesMax}.`;
  return { kind: 'failed', failure: { code: 'too_large', message }, residentBytes: 0 };
}

const canceledAttempt: Attempt = {
  kind: 'lost',
  failure: { code: 'timeout', message: 'Parsing of the document was canceled.' },
};

function isRetryable({ code }: ParseFailureData): boolean {
  return code === 'crash' || code === 'timeout' || code === 'memory';
}

function needsReplacement(child: ParserChild, residentBytes: number): boolean {
  return (
    child.requestCount >= processLimits.recycleDocuments || residentBytes > processLimits.recycleResidentBytes
  );
}

function toFailure(attempt: Attempt): ParseFailureData {
  if (attempt.kind === 'failed' || attempt.kind === 'lost') return attempt.failure;
  return { code: 'crash', message: 'The parser process returned an unexpected reply.' };
}
