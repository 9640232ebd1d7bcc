import { readFileSync, statSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { processLimits } from './limits.ts';
import { renderPageImage } from './page-image.ts';
import { parseDocument } from './parse.ts';
import { ParseFailure } from './parse-failure.ts';
import type { ParserMessage, ParserRequest } from './parser-messages.ts';

/** The descriptor of the pipe whose other end the host holds open for as long as it lives. */
export const lifelineDescriptor = 4;

/**
 * The parser process: answers one request after the other over the IPC channel until the channel closes. `watchdog` is the
 * module that calls `watchProcess`; it runs on a thread of its own, because the main thread may hang inside a document.
 */
export function serveParser(watchdog: URL): void {
  new Worker(watchdog, {
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4, stackSizeMb: 1 },
  });
  process.on('disconnect', () => process.exit(0));
  process.on('message', (request: ParserRequest) => void answer(request));
  void send({ type: 'ready' });
}

/**
 * Ends this process at once when the host is gone (its end of the lifeline closes, even after `kill -9`) or when resident
 * memory passes the limit, whatever the main thread does meanwhile.
 */
export function watchProcess(): void {
  const lifeline = new Socket({ fd: lifelineDescriptor, readable: true, writable: false });
  lifeline.on('error', () => process.kill(process.pid, 'SIGKILL'));
  lifeline.on('close', () => process.kill(process.pid, 'SIGKILL'));
  lifeline.resume();
  setInterval(() => {
    const residentBytes = process.memoryUsage.rss();
    if (residentBytes <= processLimits.residentBytesMax) return;
    writeSync(2, `out of memory: ${residentBytes} bytes resident\n`);
    process.kill(process.pid, 'SIGKILL');
  }, processLimits.watchdogMs);
}

async function answer(request: ParserRequest): Promise<void> {
  try {
    const bytes = readBytes(request);
    if (request.type === 'parse') await answerParse(request, bytes);
    else await answerRender(request, bytes);
  } catch (error) {
    await answerFailure(error);
  }
}

function readBytes({ file, limits }: ParserRequest): Uint8Array {
  const { size } = statSync(file);
  if (size > limits.fileBytesMax) {
    throw new ParseFailure(
      'too_large',
      `The file has ${size} bytes; at most ${limits.fileBytesMax} are read.`,
    );
  }
  return readFileSync(file);
}

async function answerParse(
  { path, limits }: Extract<ParserRequest, { type: 'parse' }>,
  bytes: Uint8Array,
): Promise<void> {
  const pages = parseDocument(bytes, path, limits);
  for (;;) {
    const step = await pages.next();
    if (step.done === true) {
      return send({ type: 'done', facts: step.value, residentBytes: process.memoryUsage.rss() });
    }
    await send({ type: 'page', text: step.value });
  }
}

async function answerRender(
  { page, limits, ...size }: Extract<ParserRequest, { type: 'render' }>,
  bytes: Uint8Array,
): Promise<void> {
  const image = await renderPageImage(bytes, page, size, limits);
  await send({ type: 'image', bytes: image, residentBytes: process.memoryUsage.rss() });
}

/** Anything but a fault of the document leaves the engines in an unknown state: the process says so and ends. */
async function answerFailure(error: unknown): Promise<void> {
  const residentBytes = process.memoryUsage.rss();
  if (error instanceof ParseFailure) {
    return send({ type: 'fail', code: error.code, message: error.message, fatal: false, residentBytes });
  }
  const reason = error instanceof Error ? error.message : String(error);
  const code = isOutOfMemory(error) ? 'memory' : 'crash';
  const message =
    code === 'memory'
      ? 'Reading the document needs more memory than one document may use.'
      : `The parser met an internal error while reading the document: ${reason}`;
  await send({ type: 'fail', code, message, fatal: true, residentBytes });
  process.exit(1);
}

/** V8, WebAssembly and PDFium each have their own words for it. */
function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof Error &&
    /out of memory|oom|allocation failed|unable to grow|has no memory|invalid string length/i.test(
      error.message,
    )
  );
}

/** Resolves when the message is in the pipe, so that pages never pile up in this process. */
function send(message: ParserMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, undefined, {}, () => resolve());
  });
}
