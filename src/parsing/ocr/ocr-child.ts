import { realpathSync } from 'node:fs';
import { processLimits } from '../limits.ts';
import { ParserChild, type ParserChildOptions } from '../process/parser-child.ts';
import type { ToolReply } from '../tools/document-tools.ts';

export interface OcrChildOptions
  extends Pick<ParserChildOptions, 'entry' | 'prlimit' | 'sandbox' | 'workingFolder'> {
  /** Language names joined by `+`. */
  readonly languages: string;
  /** Folder of the language data, see `copyLanguages`. */
  readonly dataFolder: string;
}

/** Images after which the embedded engine's process is replaced, because its memory only grows. */
const imagesPerProcessMax = 100;

/**
 * Embedded OCR engine in its own restricted process, one image at a time. The process starts with the first
 * image, is replaced after many images, high memory use or a failure, and exits after an idle period.
 */
export class OcrChild {
  readonly #options: OcrChildOptions;
  #child: ParserChild | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(options: OcrChildOptions) {
    this.#options = options;
  }

  recognize(
    image: Uint8Array,
    { msMax, signal }: { msMax: number; signal: AbortSignal },
  ): Promise<ToolReply> {
    const result = this.#queue.then(() => this.#recognizeWithRetry(image, msMax, signal));
    this.#queue = result.catch(() => undefined); // the caller handles errors of `result`; the queue only waits
    return result;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#endChild();
    await this.#queue;
  }

  async #recognizeWithRetry(image: Uint8Array, msMax: number, signal: AbortSignal): Promise<ToolReply> {
    for (let attempt = 1; ; attempt++) {
      const reply = await this.#recognizeOnce(image, msMax, signal);
      const again = reply.kind === 'failed' && reply.code === 'crash';
      if (!again || attempt >= processLimits.attemptsMax || signal.aborted || this.#isClosed) return reply;
    }
  }

  async #recognizeOnce(image: Uint8Array, msMax: number, signal: AbortSignal): Promise<ToolReply> {
    if (this.#isClosed || signal.aborted) return canceledReply;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    const child = await this.#getChild();
    const { reply, residentBytes } = await exchangeImage(child, image, { msMax, signal });
    const needsReplacement =
      child.requestCount >= imagesPerProcessMax || residentBytes > processLimits.ocrRecycleResidentBytes;
    if (reply.kind === 'failed' || needsReplacement) await this.#endChild();
    this.#idleTimer = setTimeout(() => void this.#endChild(), processLimits.ocrIdleMs);
    this.#idleTimer.unref();
    return reply;
  }

  async #getChild(): Promise<ParserChild> {
    if (this.#child?.isAlive === true) return this.#child;
    const { languages, ...options } = this.#options;
    const dataFolder = realpathSync(options.dataFolder);
    const args = [dataFolder, languages];
    this.#child = await ParserChild.start({ ...options, folders: [dataFolder], args }, () => {});
    return this.#child;
  }

  async #endChild(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    await child?.kill();
  }
}

const canceledReply: ToolReply = {
  kind: 'failed',
  code: 'timeout',
  message: 'OCR of the image was canceled.',
};

interface OcrExchange {
  readonly reply: ToolReply;
  readonly residentBytes: number;
}

/** Sends one image to the process and waits for the reply. */
async function exchangeImage(
  child: ParserChild,
  image: Uint8Array,
  { msMax, signal }: { msMax: number; signal: AbortSignal },
): Promise<OcrExchange> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const toFailure = (code: 'timeout' | 'crash', message: string): OcrExchange => ({
    reply: { kind: 'failed', code, message },
    residentBytes: 0,
  });
  const reply = new Promise<OcrExchange>((resolve) => {
    child.listen((message) => {
      if (message.type === 'recognized') {
        const { type: _, residentBytes, ...recognized } = message;
        resolve({ reply: { kind: 'text', ...recognized }, residentBytes });
      } else if (message.type === 'fail') resolve(toFailure('crash', message.message));
    });
    timer = setTimeout(
      () => resolve(toFailure('timeout', `OCR of a page timed out after ${msMax / 1_000} s.`)),
      msMax,
    );
    onAbort = () => resolve({ reply: canceledReply, residentBytes: 0 });
    signal.addEventListener('abort', onAbort, { once: true });
  });
  const exit = child.exited.then(() => toFailure('crash', 'The OCR process crashed.'));
  child.sendRequest({ type: 'recognize', image });
  try {
    return await Promise.race([reply, exit]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    child.listen(() => {});
  }
}
