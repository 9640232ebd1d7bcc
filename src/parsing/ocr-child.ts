import { realpathSync } from 'node:fs';
import type { ToolReply } from './document-tools.ts';
import { processLimits } from './limits.ts';
import { ParserChild, type ParserChildOptions } from './parser-child.ts';

export interface OcrChildOptions extends Pick<ParserChildOptions, 'entry' | 'prlimit' | 'sandbox'> {
  /** Names of languages with `+` between. */
  readonly languages: string;
  /** Where their data lies, see `copyLanguages`. */
  readonly dataFolder: string;
}

/** Images after which the embedded engine's process is replaced: its memory only grows. */
const recycleImages = 100;

/**
 * The embedded OCR engine in a restricted process of its own, one image at a time. It starts with the first image, is
 * replaced after many images, much memory or trouble, and ends when nothing was asked for a while.
 */
export class OcrChild {
  readonly #options: OcrChildOptions;
  #child: ParserChild | null = null;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;
  #idle: NodeJS.Timeout | null = null;

  constructor(options: OcrChildOptions) {
    this.#options = options;
  }

  recognise(
    image: Uint8Array,
    { msMax, signal }: { msMax: number; signal: AbortSignal },
  ): Promise<ToolReply> {
    const result = this.#queue.then(() => this.#attempts(image, msMax, signal));
    this.#queue = result.catch(() => undefined); // the caller holds `result`; the queue only waits
    return result;
  }

  /** Twice is once. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
    await this.#queue;
  }

  async #attempts(image: Uint8Array, msMax: number, signal: AbortSignal): Promise<ToolReply> {
    for (let number = 1; ; number++) {
      const reply = await this.#attempt(image, msMax, signal);
      const again = reply.kind === 'failed' && reply.code === 'crash';
      if (!again || number >= processLimits.attemptsMax || signal.aborted || this.#closed) return reply;
    }
  }

  async #attempt(image: Uint8Array, msMax: number, signal: AbortSignal): Promise<ToolReply> {
    if (this.#closed || signal.aborted) return cancelled;
    if (this.#idle !== null) clearTimeout(this.#idle);
    const child = await this.#ready();
    const { reply, residentBytes } = await exchange(child, image, { msMax, signal });
    const worn = child.served >= recycleImages || residentBytes > processLimits.ocrRecycleResidentBytes;
    if (reply.kind === 'failed' || worn) await this.#end();
    this.#idle = setTimeout(() => void this.#end(), processLimits.ocrIdleMs);
    this.#idle.unref();
    return reply;
  }

  async #ready(): Promise<ParserChild> {
    if (this.#child?.alive === true) return this.#child;
    const { entry, prlimit, sandbox, languages } = this.#options;
    const dataFolder = realpathSync(this.#options.dataFolder);
    const words = [dataFolder, languages];
    this.#child = await ParserChild.start(
      { entry, prlimit, sandbox, folders: [dataFolder], words },
      () => {},
    );
    return this.#child;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    await child?.kill();
  }
}

const cancelled: ToolReply = { kind: 'failed', code: 'timeout', message: 'Reading the image was cancelled.' };

interface Exchanged {
  readonly reply: ToolReply;
  readonly residentBytes: number;
}

/** One image to one process. */
async function exchange(
  child: ParserChild,
  image: Uint8Array,
  { msMax, signal }: { msMax: number; signal: AbortSignal },
): Promise<Exchanged> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const failed = (code: 'timeout' | 'crash', message: string): Exchanged => ({
    reply: { kind: 'failed', code, message },
    residentBytes: 0,
  });
  const answered = new Promise<Exchanged>((resolve) => {
    child.listen((message) => {
      if (message.type === 'recognised') {
        const { text, confidence, residentBytes } = message;
        resolve({ reply: { kind: 'text', text, confidence }, residentBytes });
      } else if (message.type === 'fail') resolve(failed('crash', message.message));
    });
    timer = setTimeout(
      () => resolve(failed('timeout', `Reading the text of a page took more than ${msMax / 1_000} s.`)),
      msMax,
    );
    onAbort = () => resolve({ reply: cancelled, residentBytes: 0 });
    signal.addEventListener('abort', onAbort, { once: true });
  });
  const died = child.ended.then(() => failed('crash', 'The process that reads images died.'));
  child.request({ type: 'recognise', image });
  try {
    return await Promise.race([answered, died]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    child.listen(() => {});
  }
}
