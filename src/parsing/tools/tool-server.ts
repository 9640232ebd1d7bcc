import { copyFile, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Semaphore } from '../../core/async/semaphore.ts';
import { processLimits } from '../limits.ts';
import type { OcrEngine } from '../ocr/ocr-engine.ts';
import type { ToolReply, ToolRequest } from './document-tools.ts';
import { convertOffice } from './libre-office.ts';
import { type OptionalToolName, toolDescriptions } from './optional-tools.ts';
import { DiskFullError, type ToolExit, type ToolRunner } from './tool-runner.ts';

/** Store of converted files, from which pages are rendered later. */
export interface ConvertedFileStore {
  /** Folder of the files. */
  readonly folder: string;
  /** Returns the path of a stored file, or null. */
  find(name: string): Promise<string | null>;
  /** Takes ownership of a file and returns its new path. */
  add(name: string, file: string): Promise<string>;
}

export interface ToolServerOptions {
  readonly runner: ToolRunner;
  readonly ocrEngine: OcrEngine;
  readonly converted: ConvertedFileStore;
  /** False: LibreOffice is not used although it may be installed. */
  readonly office: boolean;
  /** Reason why the installed programs of this host must not run; null if they may. */
  readonly disabledReason: string | null;
  /** Maximum number of concurrent programs, separately for LibreOffice and for all others. */
  readonly runningMax: number;
  readonly createUniqueName: () => string;
}

/** Must be called when the caller has used the reply; deletes files created for it alone. */
type Release = () => Promise<void>;

export interface ToolServerReply {
  readonly reply: ToolReply;
  readonly release: Release;
}

const noRelease: Release = async () => {};
/** Raw files are named by their hash, so that results for them can be found again. */
const isHash = /^[0-9a-f]{64}$/;
const imageBytesMax = 100_000_000;
const failuresMax = 10_000;

/**
 * Runs the optional programs, in the main thread; no other class does. Requests come from parser processes
 * through their hosts; equal concurrent conversions run once.
 */
export class ToolServer {
  readonly #options: ToolServerOptions;
  readonly #officeSemaphore: Semaphore;
  readonly #toolSemaphore: Semaphore;
  readonly #conversions = new Map<string, Promise<ToolReply>>();
  /** Conversions that failed since the start. */
  readonly #failedConversions = new Map<string, ToolReply>();

  constructor(options: ToolServerOptions) {
    this.#options = options;
    this.#officeSemaphore = new Semaphore({ permits: options.runningMax });
    this.#toolSemaphore = new Semaphore({ permits: options.runningMax });
  }

  /** Whether Office files can be converted on this host. */
  get hasOffice(): boolean {
    return this.#options.office && this.#options.runner.tools.soffice !== null;
  }

  /** Never rejects for a fault of the document; rejects when this host cannot run an installed program. */
  async execute(request: ToolRequest, signal: AbortSignal): Promise<ToolServerReply> {
    try {
      switch (request.kind) {
        case 'recognize':
          return await this.#recognize(request, signal);
        case 'convert':
          return await this.#convert(request, signal);
        case 'open-heif':
          return await this.#openHeif(request, signal);
        case 'draw':
          return await this.#draw(request, signal);
      }
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      // Only LibreOffice can be skipped, because the built-in parsers extract the text.
      if (request.kind === 'convert') return toServerReply(diskFullReply);
      throw new Error('the data disk has no space for temporary files', {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    this.#options.runner.killAll();
    await this.#options.ocrEngine.close();
  }

  async #recognize(
    { image, msMax }: Extract<ToolRequest, { kind: 'recognize' }>,
    signal: AbortSignal,
  ): Promise<ToolServerReply> {
    if (image.byteLength > imageBytesMax) return toServerReply(imageTooLargeReply);
    const { ocrEngine } = this.#options;
    return toServerReply(
      await withPermit(this.#toolSemaphore, () => ocrEngine.recognize(image, { msMax, signal }), signal),
    );
  }

  async #convert(
    request: Extract<ToolRequest, { kind: 'convert' }>,
    signal: AbortSignal,
  ): Promise<ToolServerReply> {
    const { converted, office } = this.#options;
    if (!this.hasOffice) return toServerReply(this.#missingToolReply('soffice', office));
    const isStored = isHash.test(basename(request.file));
    const name = `${isStored ? basename(request.file) : this.#options.createUniqueName()}.${request.to}`;
    if (!isStored) {
      const file = join(converted.folder, name);
      const reply = await this.#runOffice(request, signal, async (result) => {
        await moveFile(result, file);
        return { kind: 'file', file };
      });
      return { reply, release: () => rm(file, { force: true }) };
    }
    const existingFile = await converted.find(name);
    if (existingFile !== null) return toServerReply({ kind: 'file', file: existingFile });
    const failed = this.#failedConversions.get(name);
    if (failed !== undefined) return toServerReply(failed);
    const running = await this.#conversions.get(name);
    // The first caller may have canceled or had less time.
    if (running !== undefined && !(running.kind === 'failed' && running.code === 'timeout'))
      return toServerReply(running);
    const conversion = this.#runOffice(request, signal, async (result) => {
      const file = join(converted.folder, `${this.#options.createUniqueName()}.part`);
      await moveFile(result, file);
      return { kind: 'file', file: await converted.add(name, file) };
    });
    this.#conversions.set(name, conversion);
    try {
      const reply = await conversion;
      if (reply.kind === 'failed' && !signal.aborted) this.#rememberFailure(name, reply);
      return toServerReply(reply);
    } finally {
      this.#conversions.delete(name);
    }
  }

  /**
   * Caches the failure, so that requests for further pages of a file that cannot be converted do not wait
   * again.
   */
  #rememberFailure(name: string, reply: ToolReply): void {
    const [oldest] = this.#failedConversions.keys();
    if (oldest !== undefined && this.#failedConversions.size >= failuresMax)
      this.#failedConversions.delete(oldest);
    this.#failedConversions.set(name, reply);
  }

  /** Retries once in a new folder when the program crashed. */
  async #runOffice(
    request: Extract<ToolRequest, { kind: 'convert' }>,
    signal: AbortSignal,
    onResult: (result: string) => Promise<ToolReply>,
  ): Promise<ToolReply> {
    return await withPermit(
      this.#officeSemaphore,
      async () => {
        for (let number = 1; ; number++) {
          const reply = await convertOffice(this.#options.runner, { ...request, signal }, onResult);
          const again = reply.kind === 'failed' && reply.code === 'crash' && !signal.aborted;
          if (!again || number >= processLimits.attemptsMax) return reply;
        }
      },
      signal,
    );
  }

  async #openHeif(
    { file, msMax }: Extract<ToolRequest, { kind: 'open-heif' }>,
    signal: AbortSignal,
  ): Promise<ToolServerReply> {
    if (this.#options.runner.tools['heif-convert'] === null)
      return toServerReply(this.#missingToolReply('heif-convert'));
    const flags = (source: string, target: string) => ['-q', '92', source, target];
    return await this.#runImageTool('heif-convert', { file, flags, target: 'image.jpg', msMax, signal });
  }

  async #draw(
    { file, page, dotsPerInch, msMax }: Extract<ToolRequest, { kind: 'draw' }>,
    signal: AbortSignal,
  ): Promise<ToolServerReply> {
    if (this.#options.runner.tools.pdftoppm === null)
      return toServerReply(this.#missingToolReply('pdftoppm'));
    const number = String(page + 1);
    const resolution = String(Math.min(600, Math.max(10, Math.round(dotsPerInch))));
    const flags = (source: string, target: string) => [
      ...['-q', '-png', '-cropbox', '-r', resolution, '-f', number, '-l', number, '-singlefile'],
      ...[source, target.replace(/\.png$/, '')],
    ];
    return await this.#runImageTool('pdftoppm', { file, flags, target: 'page.png', msMax, signal });
  }

  #missingToolReply(tool: OptionalToolName, isEnabled = true): ToolReply {
    const { packages } = toolDescriptions[tool];
    const message =
      this.#options.disabledReason ?? `${tool} is not installed on this server (Debian: ${packages}).`;
    return {
      kind: 'missing',
      message: isEnabled ? message : `${tool} is disabled on this server (QUARRY_OFFICE).`,
    };
  }

  /** Runs a program that writes one image, and returns the image bytes. */
  async #runImageTool(tool: OptionalToolName, run: ImageRun): Promise<ToolServerReply> {
    const { runner } = this.#options;
    const { msMax, signal } = run;
    const work = () =>
      runner.withTemporaryFolder(async (folder): Promise<ToolReply> => {
        const [source, target] = [join(folder, 'document'), join(folder, run.target)];
        await copyFile(run.file, source);
        const bounds = {
          memoryBytesMax: 1_073_741_824,
          fileBytesMax: imageBytesMax,
          outputBytesMax: 100_000,
        };
        const end = await runner.run({
          tool,
          flags: run.flags(source, target),
          folder,
          msMax,
          signal,
          ...bounds,
        });
        const result = await runner.findResult(folder, run.target);
        return end.outcome === 'exited' && end.code === 0 && result !== null
          ? { kind: 'bytes', bytes: await readFile(result) }
          : toImageFailure(tool, end, msMax);
      });
    return toServerReply(await withPermit(this.#toolSemaphore, work, signal));
  }
}

/** A caller that canceled while waiting runs without a permit: its work sees the signal and ends at once. */
async function withPermit<Result>(
  semaphore: Semaphore,
  work: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  try {
    await semaphore.acquire({ signal });
  } catch (error) {
    if (signal.aborted) return await work();
    throw error;
  }
  try {
    return await work();
  } finally {
    semaphore.release();
  }
}

interface ImageRun {
  /** Input file; the program reads a copy. */
  readonly file: string;
  readonly flags: (source: string, target: string) => readonly string[];
  readonly target: string;
  readonly msMax: number;
  readonly signal: AbortSignal;
}

function toImageFailure(tool: OptionalToolName, exit: ToolExit, msMax: number): ToolReply {
  if (exit.outcome === 'timeout' || exit.outcome === 'canceled') {
    return { kind: 'failed', code: 'timeout', message: `${tool} took more than ${msMax / 1_000} s.` };
  }
  return { kind: 'failed', code: 'corrupt', message: `${tool} cannot read the file.` };
}

/** Whether the disk or the user's quota is full. */
function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return error instanceof DiskFullError || code === 'ENOSPC' || code === 'EDQUOT';
}

const diskFullReply: ToolReply = {
  kind: 'failed',
  code: 'crash',
  message: 'LibreOffice was skipped because the data disk has no space for temporary files.',
};

const imageTooLargeReply: ToolReply = {
  kind: 'failed',
  code: 'too_large',
  message: 'The image is too large for OCR.',
};

function toServerReply(reply: ToolReply): ToolServerReply {
  return { reply, release: noRelease };
}

/** Moves a file, even across file systems, because the folders of programs may lie on another one. */
async function moveFile(result: string, file: string): Promise<void> {
  try {
    await rename(result, file);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EXDEV') throw error;
    await copyFile(result, file);
  }
}
