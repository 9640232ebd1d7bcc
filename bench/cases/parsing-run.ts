import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackTexts } from '../../src/core/packed-texts.ts';
import { callParser } from '../../src/ingest/parser-call.ts';
import { Pool } from '../../src/ingest/pools.ts';
import {
  isFailedOutcome,
  type PackedParseOutcome,
  type ParseOutcome,
  type ParserTask,
  type RenderOutcome,
} from '../../src/parsing/process/parse-task.ts';
import { ParserProcessRegistry } from '../../src/parsing/process/parser-process-registry.ts';
import { openToolEnvironment, type ToolEnvironment } from '../../src/parsing/tools/open-tools.ts';
import { findOptionalTools } from '../../src/parsing/tools/optional-tools.ts';
import { handleToolCall, type ToolExecutor } from '../../src/parsing/tools/tool-channel.ts';
import { childrenCpuMs } from '../harness/cpu-time.ts';
import { peakBytesOf } from '../harness/process-memory.ts';
import { type WordAgreement, wordAgreement } from '../harness/word-agreement.ts';
import type { DocumentFile } from './parsing-files.ts';

/** Result of parsing one document. */
export interface FileParseResult extends Omit<DocumentFile, 'file' | 'expected'> {
  /** `text`, `no text`, or the code of the failure. */
  readonly outcome: string;
  /** Error message for the user, or a description of the omitted parts. */
  readonly reason: string;
  /** Whether the outcome matches the manifest; null without a manifest entry. */
  readonly asWanted: boolean | null;
  readonly pages: number;
  readonly characters: number;
  /** Number of pages read by OCR. */
  readonly ocrPages: number;
  readonly cpuMs: number | null;
  readonly ms: number;
  /** Agreement with the text that the manifest names. */
  readonly expected: WordAgreement | null;
  /** Agreement with poppler's text, for PDFs that both could read. */
  readonly poppler: (WordAgreement & { readonly cpuMs: number | null; readonly clean: boolean }) | null;
}

const popplerMsMax = 60_000;
const sampleMs = 25;

/**
 * The server's parse pool with one thread and the tools of this host; also runs poppler's `pdftotext` for
 * comparison.
 */
export class ParsingRun {
  readonly #processes = new ParserProcessRegistry();
  readonly #tools: ToolEnvironment;
  readonly #pool: Pool;
  readonly #sampler = setInterval(() => this.#sampleMemory(), sampleMs);
  #peakBytes = 0;
  /** Number of images passed to the OCR engine so far. */
  #recognizedImages = 0;

  private constructor(tools: ToolEnvironment) {
    this.#tools = tools;
    const toolServer: ToolExecutor = {
      execute: (request, signal) => {
        if (request.kind === 'recognize') this.#recognizedImages += 1;
        return tools.toolServer.execute(request, signal);
      },
    };
    this.#pool = new Pool({
      name: 'parse',
      threads: 1,
      queueTasksMax: 4,
      onMessage: (message) => {
        if (!handleToolCall(toolServer, message)) this.#processes.handleMessage(message);
      },
    });
  }

  /**
   * Opens a run. `folder` contains temporary files for the duration of the run; `office`: whether LibreOffice
   * is used if installed.
   */
  static async open(folder: string, office = true): Promise<ParsingRun> {
    const tools = await openToolEnvironment({
      // CPU time and memory are measured of direct children; a sandbox would add a process in between.
      installedTools: findOptionalTools(),
      isolation: 'off',
      dataFolder: folder,
      ocrEngine: 'auto',
      ocrLanguages: 'eng',
      ocrDataFolder: null,
      office,
      runningMax: 1,
      folder: join(folder, 'tools'),
      // No cache: a conversion is not reused by other documents.
      converted: {
        folder,
        find: async () => null,
        add: async (name, file) => {
          await rename(file, join(folder, name));
          return join(folder, name);
        },
      },
      createUniqueName: randomUUID,
    });
    return new ParsingRun(tools);
  }

  /** Returns the available tools and the OCR engine. */
  toolNames(): string[] {
    return this.#tools
      .listStates()
      .flatMap(({ name, found, detail }) => (found ? [`${name}: ${detail}`] : []));
  }

  /** Whether LibreOffice is used. */
  get hasOffice(): boolean {
    return this.#tools.toolServer.hasOffice;
  }

  /** Peak resident memory of a parser process in bytes; null if the system does not report it. */
  get peakBytes(): number | null {
    return this.#peakBytes === 0 ? null : this.#peakBytes;
  }

  async close(): Promise<void> {
    clearInterval(this.#sampler);
    await this.#pool.close();
    this.#processes.killAll();
    await this.#tools.toolServer.close();
  }

  /** Parses a document and compares its text with the reference text and with poppler. */
  async parse(document: DocumentFile): Promise<FileParseResult> {
    const { file, expected, ...documentFacts } = document;
    const recognizedBefore = this.#recognizedImages;
    const { result, cpuMs, ms } = await this.#timed(() => this.pagesOf(file));
    const failure = isFailedOutcome(result) ? result.failure : null;
    const pages = isFailedOutcome(result) ? [] : result.pages;
    const text = pages.join('\n\n');
    const outcome = failure?.code ?? (/[\p{L}\p{N}]/u.test(text) ? 'text' : 'no text');
    return {
      ...documentFacts,
      outcome,
      pages: pages.length,
      cpuMs,
      ms,
      ocrPages: Math.min(pages.length, this.#recognizedImages - recognizedBefore),
      reason: failure?.message ?? (isFailedOutcome(result) ? '' : result.warnings.join(' ')),
      asWanted: isAsExpected(document, outcome),
      characters: [...text].length,
      expected: expected === null || failure !== null ? null : wordAgreement(text, expected),
      poppler:
        outcome === 'text' && documentFacts.type === 'pdf'
          ? await this.#compareWithPoppler(file, text)
          : null,
    };
  }

  async pagesOf(file: string): Promise<ParseOutcome> {
    const outcome = await this.#call<PackedParseOutcome>({ kind: 'parse', file, path: file });
    return 'failure' in outcome ? outcome : { ...outcome, pages: [...unpackTexts(outcome.pages)] };
  }

  /** Returns the CPU milliseconds of parsing a file. Errors: rejects if it cannot be parsed. */
  async cpuMsOfParsing(file: string): Promise<number> {
    const { result, cpuMs, ms } = await this.#timed(() => this.pagesOf(file));
    if (isFailedOutcome(result)) throw new Error(`${file} could not be parsed: ${result.failure.message}`);
    return cpuMs ?? ms;
  }

  /** Returns the CPU milliseconds of rendering the first page at 110 dpi; null if it cannot be rendered. */
  async cpuMsOfImage(file: string): Promise<number | null> {
    const task: ParserTask = { kind: 'render', file, page: 0 };
    const { result, cpuMs, ms } = await this.#timed(() => this.#call<RenderOutcome>(task));
    return result instanceof Uint8Array ? (cpuMs ?? ms) : null;
  }

  /**
   * Returns the output and CPU milliseconds of poppler's `pdftotext`; null if it is not installed, fails or
   * hangs.
   */
  async popplerText(file: string): Promise<{ readonly text: string; readonly cpuMs: number } | null> {
    const { result, cpuMs, ms } = await this.#timed(() =>
      outputOf('pdftotext', ['-q', '-enc', 'UTF-8', file, '-']),
    );
    return result === null ? null : { text: result, cpuMs: cpuMs ?? ms };
  }

  async #compareWithPoppler(file: string, text: string): Promise<FileParseResult['poppler']> {
    const other = await this.popplerText(file);
    if (other === null || other.text.trim() === '') return null;
    const agreement = wordAgreement(text, other.text);
    const clean = agreement.wanted >= 20 && unmappedShare(other.text) < 0.01;
    return { ...agreement, cpuMs: other.cpuMs, clean };
  }

  #call<Outcome>(task: ParserTask): Promise<Outcome> {
    return callParser<Outcome>(this.#pool, task);
  }

  async #timed<Result>(work: () => Promise<Result>) {
    const [start, cpu] = [performance.now(), childrenCpuMs(this.#processes.listPids())];
    const result = await work();
    const ms = performance.now() - start;
    await new Promise((resolve) => setTimeout(resolve, 2)); // waits for events of started and exited processes
    const after = childrenCpuMs(this.#processes.listPids());
    this.#sampleMemory();
    return { result, ms, cpuMs: cpu === null || after === null ? null : Math.max(0, after - cpu) };
  }

  #sampleMemory(): void {
    for (const pid of this.#processes.listPids())
      this.#peakBytes = Math.max(this.#peakBytes, peakBytesOf(pid) ?? 0);
  }
}

function isAsExpected({ wanted }: DocumentFile, outcome: string): boolean | null {
  const isRead = outcome === 'text';
  const isRefused = ['corrupt', 'unsupported', 'too_large', 'encrypted'].includes(outcome);
  switch (wanted) {
    case 'text':
      return isRead;
    case 'refused or opened':
      return outcome === 'encrypted' || isRead || outcome === 'no text';
    case 'refused or repaired':
      return isRead || isRefused || outcome === 'no text';
    case 'unknown':
      return isRead || isRefused || outcome === 'no text' ? null : false;
  }
}

/** Returns the share of characters that indicate a font without a usable character map. */
function unmappedShare(text: string): number {
  const visible = text.match(/[^\s]/gu)?.length ?? 0;
  return (text.match(/(?!\s)\p{Cc}|[\ufffd\ue000-\uf8ff]/gu)?.length ?? 0) / Math.max(1, visible);
}

function outputOf(program: string, programArguments: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { maxBuffer: 2 ** 28, timeout: popplerMsMax, killSignal: 'SIGKILL' } as const;
    execFile(program, programArguments, options, (error, out) => resolve(error === null ? out : null));
  });
}
