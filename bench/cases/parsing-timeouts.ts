import { randomUUID } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ParseLimits, processLimits } from '../../src/parsing/limits.ts';
import { freeBytes } from '../../src/parsing/open-tools.ts';
import { optionalTools } from '../../src/parsing/optional-tools.ts';
import { isFailure } from '../../src/parsing/parse-task.ts';
import { ParserHost } from '../../src/parsing/parser-host.ts';
import { chooseRecogniser } from '../../src/parsing/recogniser.ts';
import { noSandbox } from '../../src/parsing/sandbox.ts';
import { ToolDesk } from '../../src/parsing/tool-desk.ts';
import { ToolRunner } from '../../src/parsing/tool-runner.ts';
import { hangingPage, plainReport, scannedPages } from '../harness/made-files.ts';

/** How far beyond its time a document gets. */
export interface TimedOut {
  readonly what: string;
  /** The time it has, in milliseconds, and how often: a document that was lost is tried once more. */
  readonly msMax: number;
  readonly attempts: number;
  /** From the first to the last, the start of a fresh parser process included. */
  readonly ms: number;
  /** What became of it, in the words that its sender reads. */
  readonly said: string;
}

interface Trial {
  readonly what: string;
  readonly bytes: Uint8Array;
  /** The one that it runs into. */
  readonly limit: 'idleMsMax' | 'totalMsMax' | 'convertMsMax' | 'ocrPageMsMax' | 'ocrMsMax';
  readonly msMax: number;
  /** Whether running into it costs the document, or only what a program would have told. */
  readonly isFatal: boolean;
}

const letter = Buffer.from('{\\rtf1\\ansi Words of a letter.\\par}', 'latin1');

function trials(): Trial[] {
  return [
    { what: 'no progress', bytes: hangingPage(), limit: 'idleMsMax', msMax: 1_000, isFatal: true },
    {
      what: 'in total',
      bytes: plainReport(5_000, 1).bytes,
      limit: 'totalMsMax',
      msMax: 1_000,
      isFatal: true,
    },
    { what: 'in total, in a program', bytes: letter, limit: 'totalMsMax', msMax: 1_500, isFatal: true },
    { what: 'LibreOffice', bytes: letter, limit: 'convertMsMax', msMax: 1_000, isFatal: false },
    { what: 'OCR, a page', bytes: scannedPages(1), limit: 'ocrPageMsMax', msMax: 1_000, isFatal: false },
    { what: 'OCR, a document', bytes: scannedPages(9), limit: 'ocrMsMax', msMax: 2_000, isFatal: false },
  ];
}

function quickTrials(): Trial[] {
  return [{ what: 'LibreOffice', bytes: letter, limit: 'convertMsMax', msMax: 200, isFatal: false }];
}

/**
 * Runs documents into each kind of time-out; `folder` is for their files. Programs hang because they are scripts that do.
 * `smoke`: only the quick ones.
 */
export async function measureTimeouts(folder: string, smoke: boolean): Promise<TimedOut[]> {
  const host = await hostWithHangingTools(folder);
  try {
    const found: TimedOut[] = [];
    const chosen = smoke ? quickTrials() : trials();
    for (const trial of chosen) found.push(await timedOut(host, trial, folder));
    return found;
  } finally {
    await host.close();
  }
}

async function timedOut(host: ParserHost, trial: Trial, folder: string): Promise<TimedOut> {
  const { what, bytes, limit, msMax, isFatal } = trial;
  const file = join(folder, randomUUID());
  await writeFile(file, bytes);
  const warm = join(folder, randomUUID());
  await writeFile(warm, scannedPages(1));
  await host.parse({ kind: 'parse', file: warm, limits: { ocrPageMsMax: 1 } });
  const limits: Partial<ParseLimits> = { [limit]: msMax };
  const start = performance.now();
  const outcome = await host.parse({ kind: 'parse', file, limits });
  const ms = performance.now() - start;
  const said = isFailure(outcome) ? outcome.failure.message : outcome.warnings.join(' ');
  return { what, msMax, attempts: isFatal ? processLimits.attemptsMax : 1, ms, said };
}

async function hostWithHangingTools(folder: string): Promise<ParserHost> {
  const script = join(folder, 'hangs');
  await writeFile(script, '#!/bin/sh\nsleep 600\n');
  await chmod(script, 0o755);
  const tools = { ...optionalTools(), soffice: script, tesseract: script };
  const toolFolder = join(folder, 'tools');
  await mkdir(toolFolder);
  const runner = new ToolRunner({
    tools,
    sandbox: noSandbox,
    folder: toolFolder,
    freshName: randomUUID,
    freeBytes,
  });
  const recogniser = chooseRecogniser({
    ...{
      engine: 'tesseract',
      languages: 'eng',
      installed: ['eng'],
      runner,
      refusal: null,
      embeddedEntry: '',
    },
    ...{ dataFolder: null, languagesFolder: join(toolFolder, 'languages') },
  });
  const converted = { folder, find: async () => null, keep: async (_: string, file: string) => file };
  const desk = new ToolDesk({
    ...{ runner, recogniser, converted, office: true, refusal: null, runningMax: 1, freshName: randomUUID },
  });
  return new ParserHost({
    entry: fileURLToPath(new URL('../../workers/parser-process.js', import.meta.url)),
    prlimit: tools.prlimit,
    sandbox: noSandbox,
    onProcess: () => {},
    tools: desk,
  });
}
