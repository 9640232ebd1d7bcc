import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chunkDocument } from '../../src/chunking/chunk-document.ts';
import { isFailedOutcome } from '../../src/parsing/process/parse-task.ts';
import type { BenchCase, BenchContext } from '../harness/bench-case.ts';
import { ownCpuMs } from '../harness/cpu-time.ts';
import {
  type GeneratedFile,
  generateLetter,
  generateReport,
  generateWebPage,
  generateWorkbook,
} from '../harness/generated-files.ts';
import { interleave } from '../harness/rounds.ts';
import { listDocumentFiles } from './parsing-files.ts';
import {
  ownWordReader,
  type ParsingMeasurement,
  type ParsingSpeeds,
  toParsingFindings,
} from './parsing-findings.ts';
import { type FileParseResult, ParsingRun } from './parsing-run.ts';
import { measureTimeouts } from './parsing-timeouts.ts';

/** Maximum number of first pages to render. */
const imagesMax = 20;

/** Measures completeness, correctness and speed of parsing real documents. */
export const parsingCase: BenchCase = {
  name: 'parsing',
  summary: 'your own documents (--dir), file by file: text, order, time, memory; speed on generated files',
  presets: {
    smoke: '--pages 4 --rounds 1',
    usual: '--pages 600 --rounds 3',
    full: '--pages 600 --rounds 9',
  },
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), 'quarry-bench-parsing-'));
    await mkdir(join(folder, 'temporary'));
    await mkdir(join(folder, 'alone'));
    await mkdir(join(folder, 'made'));
    await mkdir(join(folder, 'timeouts'));
    const run = await ParsingRun.open(join(folder, 'temporary'));
    const withoutOffice = run.hasOffice ? await ParsingRun.open(join(folder, 'alone'), false) : run;
    try {
      const generatedFolder = join(folder, 'made');
      const generatedFiles = await writeGeneratedFiles(generatedFolder, context);
      const speeds = await measureSpeeds({ run, withoutOffice }, generatedFiles, generatedFolder, context);
      const files = await parseFiles(run, context.options.dir ?? generatedFolder, context);
      const found: ParsingMeasurement = {
        files,
        speeds,
        peakBytes: run.peakBytes,
        options: context.options,
        imageMs: await measureImages(run, context.options.dir ?? generatedFolder, files, context),
        tools: run.toolNames(),
        timeouts: await measureTimeouts(join(folder, 'timeouts'), context.options.size === 'smoke'),
      };
      return toParsingFindings(found);
    } finally {
      await run.close();
      if (withoutOffice !== run) await withoutOffice.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** Writes the generated files: a report of `--pages` pages, and others whose size grows with it. */
async function writeGeneratedFiles(
  folder: string,
  { options, progress }: BenchContext,
): Promise<GeneratedFile[]> {
  const { pages, seed } = options;
  progress.note('parsing: making files');
  const generatedFiles = [
    generateReport(pages, seed),
    generateWorkbook(pages * 1_000, seed),
    generateLetter(pages / 600, seed),
    generateWebPage(pages / 75, seed),
  ];
  for (const { name, bytes } of generatedFiles) await writeFile(join(folder, name), bytes);
  return generatedFiles;
}

async function measureSpeeds(
  { run, withoutOffice }: { readonly run: ParsingRun; readonly withoutOffice: ParsingRun },
  generatedFiles: readonly GeneratedFile[],
  folder: string,
  { options, progress, signal }: BenchContext,
): Promise<ParsingSpeeds> {
  const report = join(folder, 'report.pdf');
  const text = await textOf(run, report);
  const perSecond = (amount: number, cpuMs: number) => amount / (Math.max(cpuMs, 1) / 1_000);
  const measurements = [
    ...generatedFiles.map(({ name, amount }) => ({
      name,
      measure: async () => perSecond(amount, await run.cpuMsOfParsing(join(folder, name))),
    })),
    ...generatedFiles
      .filter(({ name }) => name === 'letter.docx')
      .map(({ name, amount }) => ({
        name: ownWordReader,
        measure: async () => perSecond(amount, await withoutOffice.cpuMsOfParsing(join(folder, name))),
      })),
    {
      name: 'pdftotext',
      measure: async () => {
        const other = await run.popplerText(report);
        return other === null ? null : perSecond(options.pages, other.cpuMs);
      },
    },
    {
      name: 'chunks',
      measure: async () => perSecond(Buffer.byteLength(text) / 1e6, measureChunkingMs(text)),
    },
  ];
  for (const { measure } of measurements) await measure(); // one unmeasured pass to warm up
  const found = new Map(measurements.map(({ name }) => [name, [] as (number | null)[]]));
  for (const [done, { configuration }] of interleave(measurements, options.rounds, options.seed).entries()) {
    signal.throwIfAborted();
    progress.update('generated files', done, measurements.length * options.rounds, configuration.name);
    found.get(configuration.name)?.push(await configuration.measure());
  }
  return found;
}

async function textOf(run: ParsingRun, file: string): Promise<string> {
  const outcome = await run.pagesOf(file);
  if (isFailedOutcome(outcome))
    throw new Error(`The generated report could not be read: ${outcome.failure.message}`);
  return outcome.pages.join('\n\n');
}

function measureChunkingMs(text: string): number {
  const start = ownCpuMs();
  chunkDocument({ pages: [text], unordered: false, title: null, path: 'report.pdf' });
  return ownCpuMs() - start;
}

async function parseFiles(
  run: ParsingRun,
  folder: string,
  { progress, signal }: BenchContext,
): Promise<FileParseResult[]> {
  const documents = await listDocumentFiles(folder);
  const parsed: FileParseResult[] = [];
  for (const [done, document] of documents.entries()) {
    signal.throwIfAborted();
    progress.update('parsing', done, documents.length, document.name);
    parsed.push(await run.parse(document));
  }
  return parsed;
}

/** Measures first pages of the PDFs that have text, evenly sampled. */
async function measureImages(
  run: ParsingRun,
  folder: string,
  files: readonly FileParseResult[],
  { progress, signal }: BenchContext,
): Promise<number[]> {
  const drawable = files.filter(({ type, outcome }) => type === 'pdf' && outcome === 'text');
  const step = Math.max(1, drawable.length / imagesMax);
  const chosen = Array.from(
    { length: Math.min(imagesMax, drawable.length) },
    (_, i) => drawable[Math.floor(i * step)]!,
  );
  const times: number[] = [];
  for (const [done, { name }] of chosen.entries()) {
    signal.throwIfAborted();
    progress.update('page images', done, chosen.length, name);
    if (done === 0) await run.cpuMsOfImage(join(folder, name)); // one unmeasured pass to warm up
    const ms = await run.cpuMsOfImage(join(folder, name));
    if (ms !== null) times.push(ms);
  }
  return times;
}
