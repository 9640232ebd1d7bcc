import { realpathSync } from 'node:fs';
import { dirname, sep } from 'node:path';
import { defaultParseLimits, type ParseLimits, processLimits } from './limits.ts';
import type { ParseFailureData } from './parse-failure.ts';
import type {
  DocumentFacts,
  ParseOutcome,
  ParserTask,
  ParseTask,
  RenderOutcome,
  RenderTask,
} from './parse-task.ts';
import { type ChildEnd, describeEnd, endedForMemory, ParserChild } from './parser-child.ts';
import type { ParserMessage, ParserRequest } from './parser-messages.ts';

export interface ParserHostOptions {
  /** Compiled module that calls `serveParser`. */
  readonly entry: string;
  /** Absolute path of `prlimit`, or null. */
  readonly prlimit: string | null;
  /** Told of every process as it starts and ends, so that the main thread can kill what outlives its owner. */
  readonly onProcess: (event: 'started' | 'ended', pid: number) => void;
}

/** What one attempt came to. `lost`: the process died or was killed; a fresh one may do better. */
type Attempt =
  | { readonly kind: 'parsed'; readonly facts: DocumentFacts; readonly residentBytes: number }
  | { readonly kind: 'rendered'; readonly bytes: Uint8Array | null; readonly residentBytes: number }
  | { readonly kind: 'failed'; readonly failure: ParseFailureData; readonly residentBytes: number }
  | { readonly kind: 'lost'; readonly failure: ParseFailureData };

/**
 * Owns one restricted parser process and supervises it: limits of time and output, replacement after many documents or much
 * memory, one more attempt in a fresh process when the first was lost. A document can cost itself, never the server. Tasks
 * run one at a time, in order.
 */
export class ParserHost {
  private readonly options: ParserHostOptions;
  private child: ParserChild | null = null;
  private queue: Promise<unknown> = Promise.resolve();
  private closed = false;
  private cancelled = false;

  constructor(options: ParserHostOptions) {
    this.options = options;
  }

  /** The document's pages, or why there are none. Rejects only for faults of this host. */
  parse(task: ParseTask): Promise<ParseOutcome> {
    return this.enqueue(async () => {
      const limits = { ...defaultParseLimits, ...task.limits };
      const request = (file: string): ParserRequest => ({
        type: 'parse',
        file,
        path: task.path ?? null,
        limits,
      });
      let pages: string[] = [];
      const attempt = await this.attempts(task, limits, request, () => {
        pages = [];
        return pages;
      });
      return attempt.kind === 'parsed' ? { ...attempt.facts, pages } : { failure: failureOf(attempt) };
    });
  }

  /** JPEG of a page, null when there is none. Rejects only for faults of this host. */
  render(task: RenderTask): Promise<RenderOutcome> {
    return this.enqueue(async () => {
      const limits = { ...defaultParseLimits, ...task.limits };
      const request = (file: string): ParserRequest => ({
        type: 'render',
        file,
        page: task.page,
        widthMax: task.widthMax ?? limits.imageSideMax,
        dotsPerInch: task.dotsPerInch ?? 110,
        quality: task.quality ?? 78,
        limits,
      });
      const attempt = await this.attempts(task, limits, request, () => []);
      return attempt.kind === 'rendered' ? attempt.bytes : { failure: failureOf(attempt) };
    });
  }

  /**
   * Ends the task under way with a `timeout` failure. Better than ending the worker thread: the process is reaped, where an
   * ended thread leaves a zombie behind.
   */
  async cancel(): Promise<void> {
    this.cancelled = true;
    await this.replace();
  }

  /** Kills the process, whatever it does; a task under way ends with a failure. May be called twice. */
  async close(): Promise<void> {
    this.closed = true;
    await this.replace();
    await this.queue; // a process that was still starting is gone, too
  }

  private enqueue<T>(run: () => Promise<T>): Promise<T> {
    const result = this.queue.then(run);
    this.queue = result.catch(() => undefined); // the caller holds `result`; the queue only waits
    return result;
  }

  private async attempts(
    task: ParserTask,
    limits: ParseLimits,
    request: (file: string) => ParserRequest,
    freshPages: () => string[],
  ): Promise<Attempt> {
    const file = realpathSync(task.file);
    const folder = realpathSync(task.folder ?? dirname(file));
    this.cancelled = false;
    for (let number = 1; ; number++) {
      const child = await this.ready(folder);
      if (this.cancelled || this.closed) {
        await this.replace();
        return cancelledAttempt;
      }
      const attempt = await new ParserAttempt(child, limits, freshPages()).run(request(file));
      if (attempt.kind === 'lost') await this.replace();
      else if (isWornOut(child, attempt.residentBytes)) await this.replace();
      if (this.cancelled) return cancelledAttempt;
      if (attempt.kind !== 'lost' || !mayHelpAgain(attempt.failure) || this.closed) return attempt;
      if (number >= processLimits.attemptsMax) return attempt;
    }
  }

  /** A living process that may read `folder`. */
  private async ready(folder: string): Promise<ParserChild> {
    if (this.closed) throw new Error('the parser host is closed');
    await new Promise((resolve) => setImmediate(resolve)); // lets the news arrive that an idle process has died
    const granted = this.child?.folders ?? [];
    const readable = granted.some((one) => folder === one || folder.startsWith(one + sep));
    if (this.child?.alive === true && readable) return this.child;
    await this.replace();
    const { entry, prlimit, onProcess } = this.options;
    const folders = readable ? granted : [...granted, folder];
    const child = await ParserChild.start({ entry, prlimit, folders }, onProcess);
    this.child = child;
    return child;
  }

  private async replace(): Promise<void> {
    const { child } = this;
    this.child = null;
    await child?.kill();
  }
}

const cancelledAttempt: Attempt = {
  kind: 'lost',
  failure: { code: 'timeout', message: 'Reading the document was cancelled.' },
};

function mayHelpAgain({ code }: ParseFailureData): boolean {
  return code === 'crash' || code === 'timeout' || code === 'memory';
}

function isWornOut(child: ParserChild, residentBytes: number): boolean {
  return child.served >= processLimits.recycleDocuments || residentBytes > processLimits.recycleResidentBytes;
}

function failureOf(attempt: Attempt): ParseFailureData {
  if (attempt.kind === 'failed' || attempt.kind === 'lost') return attempt.failure;
  return { code: 'crash', message: 'The parser process answered something that was not asked.' };
}

/** One request to one process, with its timers and output budget. */
class ParserAttempt {
  private readonly child: ParserChild;
  private readonly limits: ParseLimits;
  private readonly pages: string[];
  private units = 0;
  private idleTimer: NodeJS.Timeout | undefined;
  private totalTimer: NodeJS.Timeout | undefined;
  private settle: (attempt: Attempt) => void = () => {};

  constructor(child: ParserChild, limits: ParseLimits, pages: string[]) {
    this.child = child;
    this.limits = limits;
    this.pages = pages;
  }

  async run(request: ParserRequest): Promise<Attempt> {
    const settled = new Promise<Attempt>((resolve) => {
      this.settle = resolve;
    });
    this.child.listen((message) => this.hear(message));
    void this.child.ended.then((end) => this.settle({ kind: 'lost', failure: lossOf(end) }));
    this.totalTimer = setTimeout(
      () => this.expire('in total', this.limits.totalMsMax),
      this.limits.totalMsMax,
    );
    this.restartIdleTimer();
    this.child.request(request);
    try {
      return await settled;
    } finally {
      clearTimeout(this.idleTimer);
      clearTimeout(this.totalTimer);
      this.child.listen(() => {});
    }
  }

  private hear(message: ParserMessage): void {
    this.restartIdleTimer();
    switch (message.type) {
      case 'ready':
        break;
      case 'page':
        this.keep(message.text);
        break;
      case 'done':
        this.settle({ kind: 'parsed', facts: message.facts, residentBytes: message.residentBytes });
        break;
      case 'image':
        this.settle({ kind: 'rendered', bytes: message.bytes, residentBytes: message.residentBytes });
        break;
      case 'fail': {
        const { residentBytes, fatal, code } = message;
        const failure = { code, message: message.message };
        this.settle(fatal ? { kind: 'lost', failure } : { kind: 'failed', failure, residentBytes });
        break;
      }
    }
  }

  /** The process keeps the same budget; this one holds even if the process has been taken over. */
  private keep(page: string): void {
    this.units += page.length;
    this.pages.push(page);
    if (this.units <= this.limits.textUnitsMax && this.pages.length <= this.limits.rowPagesMax) return;
    this.pages.length = 0;
    const message = 'The document holds more text than is read from one document.';
    this.settle({ kind: 'lost', failure: { code: 'too_large', message } });
  }

  private restartIdleTimer(): void {
    clearTimeout(this.idleTimer);
    const { idleMsMax } = this.limits;
    this.idleTimer = setTimeout(() => this.expire('without progress', idleMsMax), idleMsMax);
  }

  private expire(how: string, ms: number): void {
    const message = `Reading the document was stopped: it took more than ${ms / 1_000} s ${how}.`;
    this.settle({ kind: 'lost', failure: { code: 'timeout', message } });
  }
}

function lossOf(end: ChildEnd): ParseFailureData {
  if (endedForMemory(end)) {
    return { code: 'memory', message: 'Reading the document needs more memory than one document may use.' };
  }
  return {
    code: 'crash',
    message: `The parser process died while reading the document (${describeEnd(end)}).`,
  };
}
