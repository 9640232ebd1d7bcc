import { stat } from 'node:fs/promises';
import type { ParseProgress, ToolNeed, ToolReply, ToolRequest } from './document-tools.ts';
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
import type { DocumentRequest, ParserMessage, SentReply } from './parser-messages.ts';
import type { Sandbox } from './sandbox.ts';
import type { ToolAnswerer } from './tool-line.ts';

export interface ParserHostOptions {
  /** Compiled module that calls `serveParser`. */
  readonly entry: string;
  /** Absolute path of `prlimit`, or null. */
  readonly prlimit: string | null;
  readonly sandbox: Sandbox;
  /** Told of every process as it starts and ends, so that the main thread can kill what outlives its owner. */
  readonly onProcess: (event: 'started' | 'ended', pid: number) => void;
  /** Who runs programs for documents; absent: nobody. */
  readonly tools?: ToolAnswerer;
}

/** Hears what is being done with a document. */
type OnProgress = (progress: ParseProgress) => void;

/** What one attempt came to. `lost`: the process died or was killed; a fresh one may do better. */
type Attempt =
  | { readonly kind: 'parsed'; readonly facts: DocumentFacts; readonly residentBytes: number }
  | { readonly kind: 'rendered'; readonly bytes: Uint8Array | null; readonly residentBytes: number }
  | { readonly kind: 'failed'; readonly failure: ParseFailureData; readonly residentBytes: number }
  | { readonly kind: 'lost'; readonly failure: ParseFailureData };

/**
 * Owns one restricted parser process and supervises it: limits of time and output, replacement after many documents or much
 * memory, one more attempt in a fresh process when the first was lost, and a fresh process for
 * each organization. A document can cost itself, never the server. Tasks
 * run one at a time, in order.
 */
export class ParserHost {
  private readonly options: ParserHostOptions;
  private child: ParserChild | null = null;
  /** Whose documents the process reads. */
  private organizationId: string | undefined;
  /** A fresh process for the next organization, while organizations take turns. */
  private standby: Promise<ParserChild | null> | null = null;
  private standbyTimer: NodeJS.Timeout | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private closed = false;

  constructor(options: ParserHostOptions) {
    this.options = options;
  }

  /**
   * The document's pages, or why there are none. Rejects only for faults of this host. Aborting `signal` ends the task
   * with a `timeout` failure, or takes it out of the queue. Better than ending the worker thread: the process is reaped,
   * where an ended thread leaves a zombie behind.
   */
  parse(
    task: ParseTask,
    onProgress: OnProgress = () => {},
    signal: AbortSignal | null = null,
  ): Promise<ParseOutcome> {
    return this.enqueue(async () => {
      const limits = { ...defaultParseLimits, ...task.limits };
      const request = (size: number): DocumentRequest => ({
        type: 'parse',
        size,
        path: task.path ?? null,
        limits,
      });
      let pages: string[] = [];
      const freshPages = () => {
        pages = [];
        return pages;
      };
      const attempt = await this.attempts(task, { limits, request, freshPages, onProgress, signal });
      return attempt.kind === 'parsed' ? { ...attempt.facts, pages } : { failure: failureOf(attempt) };
    });
  }

  /** JPEG of a page, null when there is none. `signal` as above. Rejects only for faults of this host. */
  render(task: RenderTask, signal: AbortSignal | null = null): Promise<RenderOutcome> {
    return this.enqueue(async () => {
      const limits = { ...defaultParseLimits, ...task.limits };
      const request = (size: number): DocumentRequest => ({
        type: 'render',
        size,
        page: task.page,
        widthMax: task.widthMax ?? limits.imageSideMax,
        dotsPerInch: task.dotsPerInch ?? 110,
        quality: task.quality ?? 78,
        limits,
      });
      const attempt = await this.attempts(task, {
        limits,
        request,
        freshPages: () => [],
        onProgress: () => {},
        signal,
      });
      return attempt.kind === 'rendered' ? attempt.bytes : { failure: failureOf(attempt) };
    });
  }

  /** Kills the process, whatever it does; a task under way ends with a failure. May be called twice. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([this.replace(), this.endStandby()]);
    await this.queue; // a process that was still starting is gone, too
    await this.endStandby();
  }

  private enqueue<T>(run: () => Promise<T>): Promise<T> {
    const result = this.queue.then(run);
    this.queue = result.catch(() => undefined); // the caller holds `result`; the queue only waits
    return result;
  }

  private async attempts(task: ParserTask, asked: Asked): Promise<Attempt> {
    const { signal } = asked;
    if (signal?.aborted) return cancelledAttempt;
    const end = () => void this.replace();
    signal?.addEventListener('abort', end, { once: true });
    try {
      return await this.attemptUntilEnd(task, asked);
    } finally {
      signal?.removeEventListener('abort', end);
    }
  }

  private async attemptUntilEnd(task: ParserTask, asked: Asked): Promise<Attempt> {
    const { file, organizationId } = task;
    const isCancelled = () => asked.signal?.aborted === true;
    const { size } = await stat(file);
    const { fileBytesMax } = asked.limits;
    if (size > fileBytesMax) return tooLarge(size, fileBytesMax);
    for (let number = 1; ; number++) {
      const child = await this.ready(organizationId);
      if (isCancelled() || this.closed) {
        await this.replace();
        return cancelledAttempt;
      }
      const attempt = await new ParserAttempt(child, asked, this.options.tools ?? null).run(
        file,
        asked.request(size),
      );
      if (attempt.kind === 'lost') await this.replace();
      else if (isWornOut(child, attempt.residentBytes)) await this.replace();
      if (isCancelled()) return cancelledAttempt;
      if (attempt.kind !== 'lost' || !mayHelpAgain(attempt.failure) || this.closed) return attempt;
      if (number >= processLimits.attemptsMax) return attempt;
    }
  }

  /** A living process that has read documents of no other organization. */
  private async ready(organizationId: string | undefined): Promise<ParserChild> {
    if (this.closed) throw new Error('the parser host is closed');
    await new Promise((resolve) => setImmediate(resolve)); // lets the news arrive that an idle process has died
    const isOthers = this.child?.alive === true && this.organizationId !== organizationId;
    if (this.child?.alive === true && !isOthers) return this.child;
    const [fresh] = await Promise.all([this.takeStandby(), this.replace()]);
    this.child = fresh ?? (await this.start());
    this.organizationId = organizationId;
    if (isOthers && !this.closed) this.prepareStandby();
    return this.child;
  }

  private start(): Promise<ParserChild> {
    const { entry, prlimit, sandbox, onProcess } = this.options;
    return ParserChild.start({ entry, prlimit, sandbox, folders: [] }, onProcess);
  }

  /** Organizations take turns: the start of the process for the next one costs it no time. */
  private prepareStandby(): void {
    this.standby = this.start().catch(() => null); // the start that is waited for says why
    this.standbyTimer = setTimeout(() => void this.endStandby(), processLimits.standbyMs);
    this.standbyTimer.unref();
  }

  private async takeStandby(): Promise<ParserChild | null> {
    const { standby } = this;
    this.standby = null;
    clearTimeout(this.standbyTimer);
    const child = await standby;
    return child?.alive === true ? child : null;
  }

  private async endStandby(): Promise<void> {
    await (await this.takeStandby())?.kill();
  }

  private async replace(): Promise<void> {
    const { child } = this;
    this.child = null;
    await child?.kill();
  }
}

/** What a task asks of each of its attempts. */
interface Asked {
  readonly limits: ParseLimits;
  readonly request: (size: number) => DocumentRequest;
  readonly freshPages: () => string[];
  readonly onProgress: OnProgress;
  readonly signal: AbortSignal | null;
}

function tooLarge(size: number, bytesMax: number): Attempt {
  const message = `The file has ${size} bytes; at most ${bytesMax} are read.`;
  return { kind: 'failed', failure: { code: 'too_large', message }, residentBytes: 0 };
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
  private readonly onProgress: OnProgress;
  private readonly tools: ToolAnswerer | null;
  private readonly over = new AbortController();
  /** What was made for this document alone. */
  private readonly releases: (() => Promise<void>)[] = [];
  private file = '';
  private needs = 0;
  private units = 0;
  private idleTimer: NodeJS.Timeout | undefined;
  private totalTimer: NodeJS.Timeout | undefined;
  private settle: (attempt: Attempt) => void = () => {};

  constructor(child: ParserChild, { limits, freshPages, onProgress }: Asked, tools: ToolAnswerer | null) {
    this.child = child;
    this.limits = limits;
    this.pages = freshPages();
    this.onProgress = onProgress;
    this.tools = tools;
  }

  async run(file: string, request: DocumentRequest): Promise<Attempt> {
    this.file = file;
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
    void this.send(file, request.size);
    try {
      return await settled;
    } finally {
      clearTimeout(this.idleTimer);
      clearTimeout(this.totalTimer);
      this.child.listen(() => {});
      this.over.abort();
      for (const release of this.releases) await release();
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
      case 'progress':
        this.onProgress(message.progress);
        break;
      case 'need':
        void this.serve(message.id, message.need);
        break;
      case 'recognised':
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

  /** Has a program run for the process, which waits meanwhile: the program has a time limit of its own. */
  private async serve(id: number, need: ToolNeed): Promise<void> {
    this.needs += 1;
    clearTimeout(this.idleTimer);
    try {
      if (this.tools === null) return this.child.request({ type: 'tool-reply', id, reply: nobody });
      const request = requestOf(need, this.file, this.limits);
      const { reply, release } = await this.tools.ask(request, this.over.signal);
      this.releases.push(release);
      if (!this.over.signal.aborted) await this.answer(id, reply);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const message = `A program that the document needs cannot be run: ${reason}.`;
      this.settle({ kind: 'lost', failure: { code: 'crash', message } });
    } finally {
      this.needs -= 1;
      if (!this.over.signal.aborted) this.restartIdleTimer();
    }
  }

  private async answer(id: number, reply: ToolReply): Promise<void> {
    if (reply.kind !== 'file') return this.child.request({ type: 'tool-reply', id, reply });
    const { size } = await stat(reply.file);
    if (this.over.signal.aborted) return;
    this.child.request({ type: 'tool-reply', id, reply: { kind: 'file', size } });
    await this.send(reply.file, size);
  }

  private async send(file: string, size: number): Promise<void> {
    try {
      await this.child.send(file, size);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.settle({ kind: 'lost', failure: { code: 'crash', message: `A file cannot be read: ${reason}.` } });
    }
  }

  private restartIdleTimer(): void {
    clearTimeout(this.idleTimer);
    if (this.needs > 0) return;
    const { idleMsMax } = this.limits;
    this.idleTimer = setTimeout(() => this.expire('without progress', idleMsMax), idleMsMax);
  }

  private expire(how: string, ms: number): void {
    const message = `Reading the document was stopped: it took more than ${ms / 1_000} s ${how}.`;
    this.settle({ kind: 'lost', failure: { code: 'timeout', message } });
  }
}

const nobody: SentReply = { kind: 'missing', message: 'Nobody runs programs for this parser.' };

/** The process names no files: a need is about the document under work. */
function requestOf(need: ToolNeed, file: string, limits: ParseLimits): ToolRequest {
  switch (need.kind) {
    case 'recognise': {
      const msMax = Math.ceil(Math.max(1, Math.min(need.msLeft, limits.ocrPageMsMax)));
      return { kind: 'recognise', image: need.image, msMax };
    }
    case 'convert':
      return { ...need, file, msMax: limits.convertMsMax };
    case 'open-heif':
    case 'draw':
      return { ...need, file, msMax: processLimits.imageMsMax };
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
