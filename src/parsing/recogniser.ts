import { AppError } from '../base/app-error.ts';
import type { ToolReply } from './document-tools.ts';
import { OcrChild } from './ocr-child.ts';
import { copyLanguages, languageData, languagePackage } from './ocr-languages.ts';
import { textOfWords } from './recognised-text.ts';
import type { ToolRunner } from './tool-runner.ts';

export const ocrEngines = ['auto', 'tesseract', 'embedded', 'off'] as const;
export type OcrEngineName = (typeof ocrEngines)[number];

export interface RecognitionBounds {
  readonly msMax: number;
  readonly signal: AbortSignal;
}

/** Reads the text of images. */
export interface Recogniser {
  /** How it is named in `/readyz` and the log. */
  readonly name: string;
  /** `image`: a PNG. */
  recognise(image: Uint8Array, bounds: RecognitionBounds): Promise<ToolReply>;
  close(): Promise<void>;
}

export interface RecogniserChoice {
  readonly engine: OcrEngineName;
  /** Names of languages as Tesseract has them, with `+` between. */
  readonly languages: string;
  readonly runner: ToolRunner;
  /** Why the programs of this host are not run although they are installed; null: they are run. */
  readonly refusal: string | null;
  /** Languages of the tesseract binary. */
  readonly installed: readonly string[];
  /** Compiled module that calls `serveOcr`. */
  readonly embeddedEntry: string;
  /** Folder with language data for the embedded engine, which goes before that of packages; null: there is none. */
  readonly dataFolder: string | null;
  /** Folder of its own in which the embedded engine finds the languages that it reads. */
  readonly languagesFolder: string;
}

/** The engine that the settings ask for. Throws an error with a whole sentence when this host cannot do what they say. */
export function chooseRecogniser(choice: RecogniserChoice): Recogniser {
  const { engine, installed, runner, languages } = choice;
  const binary = runner.tools.tesseract !== null;
  if (engine === 'off') return noRecogniser;
  if (engine === 'tesseract' && !binary)
    throw refusal(
      choice.refusal ?? 'ocrEngine is tesseract, but tesseract is not installed (Debian: tesseract-ocr)',
    );
  const names = languages.split('+');
  const missing = names.filter((name) => !installed.includes(name));
  if (binary && missing.length === 0 && engine !== 'embedded') return new TesseractBinary(runner, languages);
  const data = names.flatMap((name) => languageData(name, choice.dataFolder) ?? []);
  if (data.length === names.length && engine !== 'tesseract') {
    copyLanguages(data, choice.languagesFolder);
    return new EmbeddedRecogniser(choice);
  }
  const has = new Set(data.map(({ language }) => language));
  const lacking = names.filter((name) => !has.has(name));
  const embedded = `the embedded engine lacks ${lacking.join(', ')} (npm install ${lacking.map(languagePackage).join(' ')}, or put the data into ocrDataFolder)`;
  const other = binary
    ? `tesseract lacks ${missing.join(', ')} and has ${installed.join(', ')} (Debian: tesseract-ocr-<language>)`
    : (choice.refusal ?? 'tesseract is not installed (Debian: tesseract-ocr)');
  const reasons = { auto: [embedded, other], embedded: [embedded], tesseract: [other] }[engine];
  throw refusal(`ocrLanguages is ${languages}, but ${reasons.join('; ')}`);
}

/** The start of the server fails with this sentence. */
function refusal(sentence: string): AppError {
  return new AppError('unavailable', `${sentence}.`);
}

const noRecogniser: Recogniser = {
  name: 'off',
  recognise: async () => ({
    kind: 'missing',
    message: 'Text in images is not read: OCR is switched off (ocrEngine).',
  }),
  close: async () => {},
};

const binaryMemoryBytesMax = 1_073_741_824;
const tableBytesMax = 32_000_000;

/** The program of Debian's tesseract-ocr. */
class TesseractBinary implements Recogniser {
  readonly name: string;
  readonly #runner: ToolRunner;
  readonly #languages: string;

  constructor(runner: ToolRunner, languages: string) {
    this.name = `tesseract, languages ${languages}`;
    this.#runner = runner;
    this.#languages = languages;
  }

  async recognise(image: Uint8Array, { msMax, signal }: RecognitionBounds): Promise<ToolReply> {
    const end = await this.#runner.withFolder((folder) =>
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
    switch (end.how) {
      case 'exited':
        if (end.code === 0) return { kind: 'text', ...textOfWords(end.output.toString('utf8')) };
        return failed('corrupt', `tesseract could not read the image: ${lastLine(end.complaint)}`);
      case 'killed':
        return failed('memory', 'tesseract needed more memory for the image than it may use.');
      case 'timeout':
        return failed('timeout', `Reading the text of a page took more than ${msMax / 1_000} s.`);
      case 'flooded':
        return failed('too_large', 'The image holds more text than is read from one image.');
      case 'cancelled':
        return failed('timeout', 'Reading the image was cancelled.');
    }
  }

  async close(): Promise<void> {}
}

function failed(code: 'corrupt' | 'memory' | 'timeout' | 'too_large', message: string): ToolReply {
  return { kind: 'failed', code, message };
}

function lastLine(complaint: string): string {
  return complaint.trim().split('\n').at(-1)?.slice(0, 200) || 'it did not say why';
}

/** tesseract.js: works where nothing is installed. */
class EmbeddedRecogniser implements Recogniser {
  readonly name: string;
  readonly #child: OcrChild;

  constructor({ languages, embeddedEntry, languagesFolder, runner }: RecogniserChoice) {
    this.name = `embedded tesseract.js, languages ${languages}`;
    const { prlimit } = runner.tools;
    const { sandbox } = runner;
    this.#child = new OcrChild({
      entry: embeddedEntry,
      prlimit,
      sandbox,
      languages,
      dataFolder: languagesFolder,
    });
  }

  recognise(image: Uint8Array, bounds: RecognitionBounds): Promise<ToolReply> {
    return this.#child.recognise(image, bounds);
  }

  close(): Promise<void> {
    return this.#child.close();
  }
}
