import { stat } from 'node:fs/promises';
import { defaultParseLimits, type ParseLimits, processLimits } from '../limits.ts';
import type { ParseFailureData } from '../parse-failure.ts';
import type { ParseProgress, ParserToolRequest, ToolReply, ToolRequest } from '../tools/document-tools.ts';
import type { Sandbox } from '../tools/sandbox.ts';
import type { ToolExecutor } from '../tools/tool-channel.ts';
import type {
  DocumentInfo,
  ParseOutcome,
  ParserTask,
  ParseTask,
  RenderOutcome,
  RenderTask,
} from './parse-task.ts';
import { type ChildExit, describeExit, exitedOutOfMemory, ParserChild } from './parser-child.ts';
import type { DocumentRequest, ParserMessage, ToolReplyMessage } from './parser-messages.ts';

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

/** Receives the progress of a document. */
type OnProgress = (progress: ParseProgress) => void;

/** Outcome of one attempt. `lost`: the process died or was killed; a fresh process may succeed. */
type Attempt =
  | { readonly kind: 'parsed'; readonly info: DocumentInfo; readonly residentBytes: number }
  | { readonly kind: 'rendered'; readonly bytes: Uint8Array | null; readonly residentBytes: number }
  | { readonly kind: 'failed'; readonly failure: ParseFailureData; readonly residentBytes: number }
  | { readonly kind: 'lost'; readonly failure: ParseFailureData };

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
      const request = (size: number): DocumentRequest => ({
        type: 'parse',
        size,
        path: task.path ?? null,
        limits,
      });
      let pages: string[] = [];
      const resetPages = () => {
        pages = [];
        return pages;
      };
      const attempt = await this.runAttempts(task, { limits, request, resetPages, onProgress, signal });
      return attempt.kind === 'parsed' ? { ...attempt.info, pages } : { failure: toFailure(attempt) };
    });
  }

  /** Returns the JPEG of a page; null if there is none. `signal` and rejections as for `parse`. */
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

  private async attemptUntilEnd(task: ParserTask, asked: AttemptInput): Promise<Attempt> {
    const { file, organizationId } = task;
    const isCanceled = () => asked.signal?.aborted === true;
    const { size } = await stat(file);
    const { fileBytesMax } = asked.limits;
    if (size > fileBytesMax) return tooLargeAttempt(size, fileBytesMax);
    for (let number = 1; ; number++) {
      const child = await this.getChild(organizationId);
      if (isCanceled() || this.isClosed) {
        await this.killChild();
        return canceledAttempt;
      }
      const attempt = await new ParserAttempt(child, asked, this.options.tools ?? null).run(
        file,
        asked.request(size),
      );
      if (attempt.kind === 'lost') await this.killChild();
      else if (needsReplacement(child, attempt.residentBytes)) await this.killChild();
      if (isCanceled()) return canceledAttempt;
      if (attempt.kind !== 'lost' || !isRetryable(attempt.failure) || this.isClosed) return attempt;
      if (number >= processLimits.attemptsMax) return attempt;
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
    const { onProcess, ...options } = this.options;
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

/** Input shared by all attempts of a task. */
interface AttemptInput {
  readonly limits: ParseLimits;
  readonly request: (size: number) => DocumentRequest;
  readonly resetPages: () => string[];
  readonly onProgress: OnProgress;
  readonly signal: AbortSignal | null;
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

/** One request to one process, with its timers and output budget. */
class ParserAttempt {
  private readonly child: ParserChild;
  private readonly limits: ParseLimits;
  private readonly pages: string[];
  private readonly onProgress: OnProgress;
  private readonly tools: ToolExecutor | null;
  private readonly finished = new AbortController();
  /** Release callbacks of tool results created for this document. */
  private readonly releases: (() => Promise<void>)[] = [];
  private file = '';
  private pendingToolRequests = 0;
  private units = 0;
  private idleTimer: NodeJS.Timeout | undefined;
  private totalTimer: NodeJS.Timeout | undefined;
  private settle: (attempt: Attempt) => void = () => {};

  constructor(
    child: ParserChild,
    { limits, resetPages: freshPages, onProgress }: AttemptInput,
    tools: ToolExecutor | null,
  ) {
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
    this.child.listen((message) => this.handleMessage(message));
    void this.child.exited.then((end) => this.settle({ kind: 'lost', failure: toLossFailure(end) }));
    this.totalTimer = setTimeout(
      () => this.expire('in total', this.limits.totalMsMax),
      this.limits.totalMsMax,
    );
    this.restartIdleTimer();
    this.child.sendRequest(request);
    void this.sendFile(file, request.size);
    try {
      return await settled;
    } finally {
      clearTimeout(this.idleTimer);
      clearTimeout(this.totalTimer);
      this.child.listen(() => {});
      this.finished.abort();
      for (const release of this.releases) await release();
    }
  }

  private handleMessage(message: ParserMessage): void {
    this.restartIdleTimer();
    switch (message.type) {
      case 'ready':
        break;
      case 'page':
        this.addPage(message.text);
        break;
      case 'progress':
        this.onProgress(message.progress);
        break;
      case 'tool-request':
        void this.serveToolRequest(message.id, message.request);
        break;
      case 'recognized':
        break;
      case 'done':
        this.settle({ kind: 'parsed', info: message.info, residentBytes: message.residentBytes });
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

  /**
   * Enforces the text budget on the host side. The process enforces the same budget; this check holds even if
   * the process is compromised.
   */
  private addPage(page: string): void {
    this.units += page.length;
    this.pages.push(page);
    if (this.units <= this.limits.textUnitsMax && this.pages.length <= this.limits.rowPagesMax) return;
    this.pages.length = 0;
    const message = 'The document exceeds the limit of extracted text.';
    this.settle({ kind: 'lost', failure: { code: 'too_large', message } });
  }

  /**
   * Runs a program for the process. The idle timer stops meanwhile, because the program has its own time
   * limit.
   */
  private async serveToolRequest(id: number, toolRequest: ParserToolRequest): Promise<void> {
    this.pendingToolRequests += 1;
    clearTimeout(this.idleTimer);
    try {
      if (this.tools === null) return this.child.sendRequest({ type: 'tool-reply', id, reply: noToolsReply });
      const request = toToolRequest(toolRequest, this.file, this.limits);
      const { reply, release } = await this.tools.execute(request, this.finished.signal);
      this.releases.push(release);
      if (!this.finished.signal.aborted) await this.sendToolReply(id, reply);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const message = `A program needed for the document failed to start: ${reason}.`;
      this.settle({ kind: 'lost', failure: { code: 'crash', message } });
    } finally {
      this.pendingToolRequests -= 1;
      if (!this.finished.signal.aborted) this.restartIdleTimer();
    }
  }

  private async sendToolReply(id: number, reply: ToolReply): Promise<void> {
    if (reply.kind !== 'file') return this.child.sendRequest({ type: 'tool-reply', id, reply });
    const { size } = await stat(reply.file);
    if (this.finished.signal.aborted) return;
    this.child.sendRequest({ type: 'tool-reply', id, reply: { kind: 'file', size } });
    await this.sendFile(reply.file, size);
  }

  private async sendFile(file: string, size: number): Promise<void> {
    try {
      await this.child.sendFile(file, size);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.settle({
        kind: 'lost',
        failure: { code: 'crash', message: `The stored file cannot be read: ${reason}.` },
      });
    }
  }

  private restartIdleTimer(): void {
    clearTimeout(this.idleTimer);
    if (this.pendingToolRequests > 0) return;
    const { idleMsMax } = this.limits;
    this.idleTimer = setTimeout(() => this.expire('without progress', idleMsMax), idleMsMax);
  }

  private expire(scope: string, ms: number): void {
    const message = `Parsing of the document timed out: it took more than ${ms / 1_000} s ${scope}.`;
    this.settle({ kind: 'lost', failure: { code: 'timeout', message } });
  }
}

const noToolsReply: ToolReplyMessage = {
  kind: 'missing',
  message: 'No external tools are available to this parser.',
};

/** The process never names files: a tool request always refers to the current document. */
function toToolRequest(toolRequest: ParserToolRequest, file: string, limits: ParseLimits): ToolRequest {
  switch (toolRequest.kind) {
    case 'recognize': {
      const msMax = Math.ceil(Math.max(1, Math.min(toolRequest.msLeft, limits.ocrPageMsMax)));
      return { kind: 'recognize', image: toolRequest.image, msMax };
    }
    case 'convert':
      return { ...toolRequest, file, msMax: limits.convertMsMax };
    case 'open-heif':
    case 'draw':
      return { ...toolRequest, file, msMax: processLimits.imageMsMax };
  }
}

function toLossFailure(exit: ChildExit): ParseFailureData {
  if (exitedOutOfMemory(exit)) {
    return { code: 'memory', message: 'Parsing the document needs more memory than the limit per document.' };
  }
  return {
    code: 'crash',
    message: `The parser process crashed while parsing the document (${describeExit(exit)}).`,
  };
}
