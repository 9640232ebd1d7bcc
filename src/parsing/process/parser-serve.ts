import { readSync } from 'node:fs';
import { processLimits } from '../limits.ts';
import { renderPageImage } from '../page-image.ts';
import { parseDocument } from '../parse.ts';
import { ParseFailure } from '../parse-failure.ts';
import type {
  DocumentTools,
  ParseProgress,
  ParserToolRequest,
  ParseStage,
  ToolReply,
} from '../tools/document-tools.ts';
import type { DocumentRequest, ParserMessage, ParserRequest, ToolReplyMessage } from './parser-messages.ts';
import { inputDescriptor, startWatchdog } from './watchdog.ts';

/**
 * Runs the parser process: handles requests one at a time over the IPC channel until the channel closes.
 * `watchdog` is the module that calls `runWatchdog`.
 */
export function serveParser(watchdog: URL): void {
  startWatchdog(watchdog);
  process.on('message', (request: ParserRequest) => {
    switch (request.type) {
      case 'parse':
      case 'render':
        return void handleRequest(request);
      case 'tool-reply':
        return hostTools.resolveRequest(request.id, request.reply);
      case 'recognize':
        throw new Error('unexpected request to the parser process: recognize');
    }
  });
  void sendToHost({ type: 'ready' });
}

/** Pending tool requests from this process to its host. */
class HostTools implements DocumentTools {
  readonly #pending = new Map<number, (reply: ToolReply) => void>();
  #lastId = 0;
  #stage: ParseStage | null = null;
  #reportedAt = 0;

  request(toolRequest: ParserToolRequest): Promise<ToolReply> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#pending.set(id, resolve);
      void sendToHost({ type: 'tool-request', id, request: toolRequest });
    });
  }

  /** Reports a new stage at once, and pages of the same stage at most every `progressMsMin` milliseconds. */
  reportProgress(progress: ParseProgress): void {
    const now = performance.now();
    if (progress.stage === this.#stage && now - this.#reportedAt < processLimits.progressMsMin) return;
    this.#stage = progress.stage;
    this.#reportedAt = now;
    void sendToHost({ type: 'progress', progress });
  }

  resolveRequest(id: number, reply: ToolReplyMessage): void {
    const settle = this.#pending.get(id);
    this.#pending.delete(id);
    settle?.(reply.kind === 'file' ? { kind: 'bytes', bytes: receiveBytes(reply.size) } : reply);
  }
}

const hostTools = new HostTools();

async function handleRequest(request: DocumentRequest): Promise<void> {
  try {
    const bytes = receiveBytes(request.size);
    if (request.type === 'parse') await handleParse(request, bytes);
    else await handleRender(request, bytes);
  } catch (error) {
    await reportFailure(error);
  }
}

/** Reads the next `size` bytes from the pipe. Blocks, because the process has no other work. */
function receiveBytes(size: number): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(size);
  for (let at = 0; at < size; ) {
    const count = readSync(inputDescriptor, bytes, at, size - at, null);
    if (count === 0) throw new Error('the host closed the pipe before the end of the file');
    at += count;
  }
  return bytes;
}

async function handleParse(
  { path, limits }: Extract<DocumentRequest, { type: 'parse' }>,
  bytes: Uint8Array,
): Promise<void> {
  const pages = parseDocument(bytes, path, limits, hostTools);
  for (;;) {
    const step = await pages.next();
    if (step.done === true) {
      return sendToHost({ type: 'done', info: step.value, residentBytes: process.memoryUsage.rss() });
    }
    await sendToHost({ type: 'page', ...step.value });
  }
}

async function handleRender(
  { page, limits, ...size }: Extract<DocumentRequest, { type: 'render' }>,
  bytes: Uint8Array,
): Promise<void> {
  const image = await renderPageImage(bytes, page, size, { limits, tools: hostTools });
  await sendToHost({ type: 'image', bytes: image, residentBytes: process.memoryUsage.rss() });
}

/**
 * Reports a failure. Any error other than a fault of the document leaves the engines in an unknown state, so
 * the process reports it as fatal and exits.
 */
async function reportFailure(error: unknown): Promise<void> {
  const residentBytes = process.memoryUsage.rss();
  if (error instanceof ParseFailure) {
    return sendToHost({
      type: 'fail',
      code: error.code,
      message: error.message,
      fatal: false,
      residentBytes,
    });
  }
  const reason = error instanceof Error ? error.message : String(error);
  const code = isOutOfMemory(error) ? 'memory' : 'crash';
  const message =
    code === 'memory'
      ? 'Parsing the document needs more memory than the limit per document.'
      : `The parser failed with an internal error: ${reason}`;
  await sendToHost({ type: 'fail', code, message, fatal: true, residentBytes });
  process.exit(1);
}

/** V8, WebAssembly and PDFium report it in different words. */
function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof Error &&
    /out of memory|oom|allocation failed|unable to grow|has no memory|invalid string length|native code called abort/i.test(
      error.message,
    )
  );
}

/** Resolves when the message is in the pipe, so that pages do not accumulate in this process. */
function sendToHost(message: ParserMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, undefined, {}, () => resolve());
  });
}
