import { stat } from 'node:fs/promises';
import { countLines } from '../../core/line-boxes.ts';
import { type ParseLimits, processLimits } from '../limits.ts';
import type { ParseFailureData } from '../parse-failure.ts';
import type { ParsedPage } from '../parsed-page.ts';
import type { ParseProgress, ParserToolRequest, ToolReply, ToolRequest } from '../tools/document-tools.ts';
import type { ToolExecutor } from '../tools/tool-channel.ts';
import { AttemptTimer } from './attempt-timer.ts';
import type { DocumentInfo } from './parse-task.ts';
import { type ChildExit, describeExit, exitedOutOfMemory, type ParserChild } from './parser-child.ts';
import type { DocumentRequest, ParserMessage, ToolReplyMessage } from './parser-messages.ts';

/** Receives the progress of a document. */
export type OnProgress = (progress: ParseProgress) => void;

/** Outcome of one attempt. `lost`: the process died or was killed; a fresh process may succeed. */
export type Attempt =
  | { readonly kind: 'parsed'; readonly info: DocumentInfo; readonly residentBytes: number }
  | { readonly kind: 'rendered'; readonly bytes: Uint8Array | null; readonly residentBytes: number }
  | { readonly kind: 'failed'; readonly failure: ParseFailureData; readonly residentBytes: number }
  | { readonly kind: 'lost'; readonly failure: ParseFailureData };

/** Input shared by all attempts of a task. */
export interface AttemptInput {
  readonly limits: ParseLimits;
  /** `limits` holds the time that remains for the attempt as `totalMsMax`. */
  readonly request: (size: number, limits: ParseLimits) => DocumentRequest;
  readonly resetPages: () => ParsedPage[];
  readonly onProgress: OnProgress;
  readonly signal: AbortSignal | null;
}

/** One request to one process, with its timers and output budget. */
export class ParserAttempt {
  private readonly child: ParserChild;
  private readonly limits: ParseLimits;
  private readonly pages: ParsedPage[];
  private readonly onProgress: OnProgress;
  private readonly tools: ToolExecutor | null;
  private readonly finished = new AbortController();
  /** Release callbacks of tool results created for this document. */
  private readonly releases: (() => Promise<void>)[] = [];
  private file = '';
  private pendingToolRequests = 0;
  private units = 0;
  private lines = 0;
  private timer: AttemptTimer | null = null;
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
    this.timer = new AttemptTimer({
      idleMsMax: this.limits.idleMsMax,
      totalMsMax: request.limits.totalMsMax,
      onExpired: (limit) => this.expire(limit),
    });
    this.child.sendRequest(request);
    void this.sendFile(file, request.size);
    try {
      return await settled;
    } finally {
      this.timer.stop();
      this.child.listen(() => {});
      this.finished.abort();
      for (const release of this.releases) await release();
    }
  }

  /** Milliseconds that the attempt took, as counted for its limit. */
  get totalMs(): number {
    return this.timer?.totalMs ?? 0;
  }

  private handleMessage(message: ParserMessage): void {
    this.noteProgress();
    switch (message.type) {
      case 'ready':
        break;
      case 'page':
        this.addPage({ text: message.text, boxes: message.boxes });
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
  private addPage(page: ParsedPage): void {
    this.units += page.text.length;
    this.lines += countLines(page.boxes);
    this.pages.push(page);
    const { textUnitsMax, rowPagesMax, linesMax } = this.limits;
    if (this.units <= textUnitsMax && this.pages.length <= rowPagesMax && this.lines <= linesMax) return;
    this.pages.length = 0;
    const message = 'The extracted text of the document exceeds the limit.';
    this.settle({ kind: 'lost', failure: { code: 'too_large', message } });
  }

  /**
   * Runs a program for the process. The idle time stops meanwhile, because the program has its own time
   * limit.
   */
  private async serveToolRequest(id: number, toolRequest: ParserToolRequest): Promise<void> {
    this.pendingToolRequests += 1;
    this.timer?.pauseIdle();
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
      if (!this.finished.signal.aborted) this.noteProgress();
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

  private noteProgress(): void {
    if (this.pendingToolRequests === 0) this.timer?.restartIdle();
  }

  private expire(limit: 'idle' | 'total'): void {
    const { idleMsMax, totalMsMax } = this.limits;
    const [ms, scope] = limit === 'total' ? [totalMsMax, 'in total'] : [idleMsMax, 'without progress'];
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
