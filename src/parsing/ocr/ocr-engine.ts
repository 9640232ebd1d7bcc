import { AppError } from '../../core/app-error.ts';
import type { ToolReply } from '../tools/document-tools.ts';
import type { ToolRunner } from '../tools/tool-runner.ts';
import { OcrChild } from './ocr-child.ts';
import {
  copyLanguages,
  findLanguageData,
  getLanguagePackage,
  type OcrLanguageData,
} from './ocr-languages.ts';
import { parseOcrTable } from './ocr-text.ts';

export const ocrEngines = ['auto', 'tesseract', 'embedded', 'off'] as const;
export type OcrEngineName = (typeof ocrEngines)[number];

export interface OcrBounds {
  readonly msMax: number;
  readonly signal: AbortSignal;
}

/** Reads the text of images. */
export interface OcrEngine {
  /** Name shown in `/readyz` and the log. */
  readonly name: string;
  /** `image` is a PNG. */
  recognize(image: Uint8Array, bounds: OcrBounds): Promise<ToolReply>;
  close(): Promise<void>;
}

export interface OcrEngineOptions {
  readonly engine: OcrEngineName;
  /** Tesseract language names joined by `+`. */
  readonly languages: string;
  readonly runner: ToolRunner;
  /** Reason why the installed programs of this host must not run; null if they may. */
  readonly disabledReason: string | null;
  /** Languages of the tesseract binary. */
  readonly installedLanguages: readonly string[];
  /** Compiled module that calls `serveOcr`. */
  readonly embeddedEntry: string;
  /** Files of the embedded engine that are not installed, see `listMissingCoreFiles`. */
  readonly missingCoreFiles: readonly string[];
  /**
   * Folder with language data for the embedded engine, preferred to that of packages; null when not
   * configured.
   */
  readonly dataFolder: string | null;
  /** Folder reserved for copies of the language data that the embedded engine reads. */
  readonly languagesFolder: string;
}

/**
 * Returns the engine selected by the settings. Errors: `unavailable` with a complete sentence when this host
 * lacks what the settings require.
 */
export function chooseOcrEngine(options: OcrEngineOptions): OcrEngine {
  const { engine, installedLanguages: installed, runner, languages } = options;
  const hasBinary = runner.tools.tesseract !== null;
  if (engine === 'off') return disabledOcrEngine;
  if (engine === 'tesseract' && !hasBinary)
    throw configurationError(
      options.disabledReason ??
        'QUARRY_OCR_ENGINE is tesseract, but tesseract is not installed (Debian: tesseract-ocr)',
    );
  const names = languages.split('+');
  const missing = names.filter((name) => !installed.includes(name));
  if (hasBinary && missing.length === 0 && engine !== 'embedded')
    return new TesseractEngine(runner, languages);
  const data = names.flatMap((name) => findLanguageData(name, options.dataFolder) ?? []);
  const embeddedReason = findEmbeddedReason(names, data, options.missingCoreFiles);
  if (embeddedReason === null && engine !== 'tesseract') {
    copyLanguages(data, options.languagesFolder);
    return new EmbeddedOcrEngine(options);
  }
  const binaryReason = hasBinary
    ? `tesseract lacks ${missing.join(', ')} and has ${installed.join(', ')} (Debian: tesseract-ocr-<language>)`
    : (options.disabledReason ?? 'tesseract is not installed (Debian: tesseract-ocr)');
  const reasons = {
    auto: [embeddedReason ?? [], binaryReason].flat(),
    embedded: [embeddedReason],
    tesseract: [binaryReason],
  }[engine];
  throw configurationError(`QUARRY_OCR_LANGUAGES is ${languages}, but ${reasons.join('; ')}`);
}

/** Returns why the embedded engine cannot read the languages; null if it can. */
function findEmbeddedReason(
  names: readonly string[],
  data: readonly OcrLanguageData[],
  missingCoreFiles: readonly string[],
): string | null {
  if (missingCoreFiles.length > 0)
    return `the embedded engine lacks ${missingCoreFiles.join(', ')} of the package tesseract.js-core (install Quarry again)`;
  const languages = new Set(data.map(({ language }) => language));
  const missing = names.filter((name) => !languages.has(name));
  if (missing.length === 0) return null;
  return `the embedded engine lacks ${missing.join(', ')} (npm install ${missing.map(getLanguagePackage).join(' ')}, or put the data into QUARRY_OCR_DATA_FOLDER)`;
}

/** The start of the server fails with this message. */
function configurationError(sentence: string): AppError {
  return new AppError('unavailable', `${sentence}.`);
}

const disabledOcrEngine: OcrEngine = {
  name: 'off',
  recognize: async () => ({
    kind: 'missing',
    message: 'Text in images was not read: OCR is disabled (QUARRY_OCR_ENGINE).',
  }),
  close: async () => {},
};

const binaryMemoryBytesMax = 1_073_741_824;
const tableBytesMax = 32_000_000;

/** Debian's tesseract-ocr program. */
class TesseractEngine implements OcrEngine {
  readonly name: string;
  readonly #runner: ToolRunner;
  readonly #languages: string;

  constructor(runner: ToolRunner, languages: string) {
    this.name = `tesseract, languages ${languages}`;
    this.#runner = runner;
    this.#languages = languages;
  }

  async recognize(image: Uint8Array, { msMax, signal }: OcrBounds): Promise<ToolReply> {
    const exit = await this.#runner.withTemporaryFolder((folder) =>
      this.#runner.run({
        tool: 'tesseract',
        flags: ['stdin', 'stdout', '-l', this.#languages, '--psm', '3', 'tsv'],
        folder,
        input: image,
        msMax,
        memoryBytesMax: binaryMemoryBytesMax,
        fileBytesMax: tableBytesMax,
        outputBytesMax: tableBytesMax,
        signal,
      }),
    );
    switch (exit.outcome) {
      case 'exited':
        if (exit.code === 0) return { kind: 'text', ...parseOcrTable(exit.output.toString('utf8')) };
        return toFailure('corrupt', `Tesseract failed to read the image: ${getLastLine(exit.stderr)}`);
      case 'killed':
        return toFailure('memory', 'Tesseract exceeded its memory limit while reading the image.');
      case 'timeout':
        return toFailure('timeout', `OCR of a page timed out after ${msMax / 1_000} s.`);
      case 'output-limit':
        return toFailure('too_large', 'The text of the image exceeds the limit per image.');
      case 'canceled':
        return toFailure('timeout', 'OCR of the image was canceled.');
    }
  }

  async close(): Promise<void> {}
}

function toFailure(code: 'corrupt' | 'memory' | 'timeout' | 'too_large', message: string): ToolReply {
  return { kind: 'failed', code, message };
}

function getLastLine(stderr: string): string {
  return stderr.trim().split('\n').at(-1)?.slice(0, 200) || 'no reason reported';
}

/** tesseract.js: works without installed programs. */
class EmbeddedOcrEngine implements OcrEngine {
  readonly name: string;
  readonly #child: OcrChild;

  constructor({ languages, embeddedEntry, languagesFolder, runner }: OcrEngineOptions) {
    this.name = `embedded tesseract.js, languages ${languages}`;
    const { prlimit } = runner.tools;
    const { sandbox, folder: workingFolder } = runner;
    this.#child = new OcrChild({
      entry: embeddedEntry,
      prlimit,
      sandbox,
      workingFolder,
      languages,
      dataFolder: languagesFolder,
    });
  }

  recognize(image: Uint8Array, bounds: OcrBounds): Promise<ToolReply> {
    return this.#child.recognize(image, bounds);
  }

  close(): Promise<void> {
    return this.#child.close();
  }
}
