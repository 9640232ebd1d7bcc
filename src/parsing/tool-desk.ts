import { copyFile, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Semaphore } from '../core/async/semaphore.ts';
import type { ToolReply, ToolRequest } from './document-tools.ts';
import { convertOffice } from './libre-office.ts';
import { processLimits } from './limits.ts';
import { type OptionalToolName, toolNotes } from './optional-tools.ts';
import type { Recogniser } from './recogniser.ts';
import { NoRoom, type ToolEnd, type ToolRunner } from './tool-runner.ts';

/** Where converted files are kept for the pages that are drawn of them later. */
export interface ConvertedFiles {
  /** Folder of the files; the parser processes may read it. */
  readonly folder: string;
  /** A kept file, or null. */
  find(name: string): Promise<string | null>;
  /** Takes a file over and answers where it is now. */
  keep(name: string, file: string): Promise<string>;
}

export interface ToolDeskOptions {
  readonly runner: ToolRunner;
  readonly recogniser: Recogniser;
  readonly converted: ConvertedFiles;
  /** False: LibreOffice is not used although it may be installed. */
  readonly office: boolean;
  /** Why the programs of this host are not run although they are installed; null: they are run. */
  readonly refusal: string | null;
  /** Programs that run at the same time, LibreOffice and others each. */
  readonly runningMax: number;
  readonly freshName: () => string;
}

/** Whoever asked is done with the reply: files that were made for it alone are deleted. */
type Release = () => Promise<void>;

export interface DeskReply {
  readonly reply: ToolReply;
  readonly release: Release;
}

const nothingToRelease: Release = async () => {};
/** Names of raw files are their hashes: what is made of them can be found again. */
const isHash = /^[0-9a-f]{64}$/;
const imageBytesMax = 100_000_000;
const failuresMax = 10_000;

/**
 * The one place where the optional programs are used, in the main thread. Requests come from parser processes through their
 * hosts; equal conversions that run at the same time are done once.
 */
export class ToolDesk {
  readonly #options: ToolDeskOptions;
  readonly #office: Semaphore;
  readonly #others: Semaphore;
  readonly #converting = new Map<string, Promise<ToolReply>>();
  /** What could not be converted since the start. */
  readonly #failed = new Map<string, ToolReply>();

  constructor(options: ToolDeskOptions) {
    this.#options = options;
    this.#office = new Semaphore({ permits: options.runningMax });
    this.#others = new Semaphore({ permits: options.runningMax });
  }

  /** Whether Office files can be converted here. */
  get hasOffice(): boolean {
    return this.#options.office && this.#options.runner.tools.soffice !== null;
  }

  /** Never rejects for a fault of the document; rejects when this host cannot run the program it has. */
  async ask(request: ToolRequest, signal: AbortSignal): Promise<DeskReply> {
    try {
      switch (request.kind) {
        case 'recognise':
          return await this.#recognise(request, signal);
        case 'convert':
          return await this.#convert(request, signal);
        case 'open-heif':
          return await this.#openHeif(request, signal);
        case 'draw':
          return await this.#draw(request, signal);
      }
    } catch (error) {
      if (!isNoRoom(error)) throw error;
      // Only LibreOffice can be done without: our own readers have the text.
      if (request.kind === 'convert') return plain(noRoomForOffice);
      throw new Error('the disk with the data of the server has no room for temporary files', {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    this.#options.runner.killAll();
    await this.#options.recogniser.close();
  }

  async #recognise(
    { image, msMax }: Extract<ToolRequest, { kind: 'recognise' }>,
    signal: AbortSignal,
  ): Promise<DeskReply> {
    if (image.byteLength > imageBytesMax) return plain(tooLarge);
    const { recogniser } = this.#options;
    return plain(
      await withPermit(this.#others, () => recogniser.recognise(image, { msMax, signal }), signal),
    );
  }

  async #convert(
    request: Extract<ToolRequest, { kind: 'convert' }>,
    signal: AbortSignal,
  ): Promise<DeskReply> {
    const { converted, office } = this.#options;
    if (!this.hasOffice) return plain(this.#missing('soffice', office));
    const kept = isHash.test(basename(request.file));
    const name = `${kept ? basename(request.file) : this.#options.freshName()}.${request.to}`;
    if (!kept) {
      const file = join(converted.folder, name);
      const reply = await this.#runOffice(request, signal, async (result) => {
        await move(result, file);
        return { kind: 'file', file };
      });
      return { reply, release: () => rm(file, { force: true }) };
    }
    const found = await converted.find(name);
    if (found !== null) return plain({ kind: 'file', file: found });
    const failed = this.#failed.get(name);
    if (failed !== undefined) return plain(failed);
    const running = await this.#converting.get(name);
    // Whoever asked first may have given up, or had less time.
    if (running !== undefined && !(running.kind === 'failed' && running.code === 'timeout'))
      return plain(running);
    const made = this.#runOffice(request, signal, async (result) => {
      const file = join(converted.folder, `${this.#options.freshName()}.part`);
      await move(result, file);
      return { kind: 'file', file: await converted.keep(name, file) };
    });
    this.#converting.set(name, made);
    try {
      const reply = await made;
      if (reply.kind === 'failed' && !signal.aborted) this.#rememberFailure(name, reply);
      return plain(reply);
    } finally {
      this.#converting.delete(name);
    }
  }

  /** Whoever asks for page after page of a file that cannot be converted is not kept waiting each time. */
  #rememberFailure(name: string, reply: ToolReply): void {
    const [oldest] = this.#failed.keys();
    if (oldest !== undefined && this.#failed.size >= failuresMax) this.#failed.delete(oldest);
    this.#failed.set(name, reply);
  }

  /** A program that died is given one more try, in a folder of its own again. */
  async #runOffice(
    request: Extract<ToolRequest, { kind: 'convert' }>,
    signal: AbortSignal,
    take: (result: string) => Promise<ToolReply>,
  ): Promise<ToolReply> {
    return await withPermit(
      this.#office,
      async () => {
        for (let number = 1; ; number++) {
          const reply = await convertOffice(this.#options.runner, { ...request, signal }, take);
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
  ): Promise<DeskReply> {
    if (this.#options.runner.tools['heif-convert'] === null) return plain(this.#missing('heif-convert'));
    const flags = (source: string, target: string) => ['-q', '92', source, target];
    return await this.#image('heif-convert', { file, flags, target: 'image.jpg', msMax, signal });
  }

  async #draw(
    { file, page, dotsPerInch, msMax }: Extract<ToolRequest, { kind: 'draw' }>,
    signal: AbortSignal,
  ): Promise<DeskReply> {
    if (this.#options.runner.tools.pdftoppm === null) return plain(this.#missing('pdftoppm'));
    const number = String(page + 1);
    const resolution = String(Math.min(600, Math.max(10, Math.round(dotsPerInch))));
    const flags = (source: string, target: string) => [
      ...['-q', '-png', '-r', resolution, '-f', number, '-l', number, '-singlefile'],
      ...[source, target.replace(/\.png$/, '')],
    ];
    return await this.#image('pdftoppm', { file, flags, target: 'page.png', msMax, signal });
  }

  #missing(tool: OptionalToolName, wanted = true): ToolReply {
    const { packages } = toolNotes[tool];
    const lacking = this.#options.refusal ?? `This server lacks ${tool} (Debian: ${packages}).`;
    return {
      kind: 'missing',
      message: wanted ? lacking : `This server is told not to use ${tool} (office).`,
    };
  }

  /** Runs a program that writes one image, and answers its bytes. */
  async #image(tool: OptionalToolName, run: ImageRun): Promise<DeskReply> {
    const { runner } = this.#options;
    const { msMax, signal } = run;
    const work = () =>
      runner.withFolder(async (folder): Promise<ToolReply> => {
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
          ...{ msMax, signal },
          ...bounds,
        });
        const result = await runner.result(folder, run.target);
        return end.how === 'exited' && end.code === 0 && result !== null
          ? { kind: 'bytes', bytes: await readFile(result) }
          : imageFailure(tool, end, msMax);
      });
    return plain(await withPermit(this.#others, work, signal));
  }
}

/** A caller that gave up while it waited runs without a permit: its work sees the signal and ends at once. */
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
  /** What it reads, as a copy. */
  readonly file: string;
  readonly flags: (source: string, target: string) => readonly string[];
  readonly target: string;
  readonly msMax: number;
  readonly signal: AbortSignal;
}

function imageFailure(tool: OptionalToolName, end: ToolEnd, msMax: number): ToolReply {
  if (end.how === 'timeout' || end.how === 'cancelled') {
    return { kind: 'failed', code: 'timeout', message: `${tool} took more than ${msMax / 1_000} s.` };
  }
  return { kind: 'failed', code: 'corrupt', message: `${tool} cannot read the file.` };
}

/** The disk, or the user's share of it, is full. */
function isNoRoom(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return error instanceof NoRoom || code === 'ENOSPC' || code === 'EDQUOT';
}

const noRoomForOffice: ToolReply = {
  kind: 'failed',
  code: 'crash',
  message: 'LibreOffice was not asked: the disk with the data of the server has no room for temporary files.',
};

const tooLarge: ToolReply = {
  kind: 'failed',
  code: 'too_large',
  message: 'The image is too large to be read.',
};

function plain(reply: ToolReply): DeskReply {
  return { reply, release: nothingToRelease };
}

/** The folders of programs may lie on another file system. */
async function move(result: string, file: string): Promise<void> {
  try {
    await rename(result, file);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EXDEV') throw error;
    await copyFile(result, file);
  }
}
