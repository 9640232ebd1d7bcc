import { randomUUID } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ParseLimits, processLimits } from '../../src/parsing/limits.ts';
import { chooseOcrEngine } from '../../src/parsing/ocr/ocr-engine.ts';
import { isFailedOutcome } from '../../src/parsing/process/parse-task.ts';
import { ParserHost } from '../../src/parsing/process/parser-host.ts';
import { getFreeBytes } from '../../src/parsing/tools/open-tools.ts';
import { findOptionalTools } from '../../src/parsing/tools/optional-tools.ts';
import { noSandbox } from '../../src/parsing/tools/sandbox.ts';
import { ToolRunner } from '../../src/parsing/tools/tool-runner.ts';
import { ToolServer } from '../../src/parsing/tools/tool-server.ts';
import { generateHangingPage, generateReport, generateScannedPages } from '../harness/generated-files.ts';

/** Time a document takes beyond its limit. */
export interface TimeoutResult {
  readonly name: string;
  /**
   * Time limit in milliseconds, and the number of attempts: a document whose process was lost is retried
   * once.
   */
  readonly msMax: number;
  readonly attempts: number;
  /** Total milliseconds of all attempts, including the restart of the parser process. */
  readonly ms: number;
  /** Message to the user. */
  readonly message: string;
}

interface TimeoutTrial {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Name of the limit that the trial exceeds. */
  readonly limit: 'idleMsMax' | 'totalMsMax' | 'convertMsMax' | 'ocrPageMsMax' | 'ocrMsMax';
  readonly msMax: number;
  /** Whether exceeding the limit fails the document; otherwise only the output of one tool is lost. */
  readonly isFatal: boolean;
}

const letter = Buffer.from('{\\rtf1\\ansi Words of a letter.\\par}', 'latin1');

function createTrials(): TimeoutTrial[] {
  return [
    { name: 'no progress', bytes: generateHangingPage(), limit: 'idleMsMax', msMax: 1_000, isFatal: true },
    {
      name: 'in total',
      bytes: generateReport(5_000, 1).bytes,
      limit: 'totalMsMax',
      msMax: 1_000,
      isFatal: true,
    },
    { name: 'in total, in a program', bytes: letter, limit: 'totalMsMax', msMax: 1_500, isFatal: true },
    { name: 'LibreOffice', bytes: letter, limit: 'convertMsMax', msMax: 1_000, isFatal: false },
    {
      name: 'OCR, a page',
      bytes: generateScannedPages(1),
      limit: 'ocrPageMsMax',
      msMax: 1_000,
      isFatal: false,
    },
    {
      name: 'OCR, a document',
      bytes: generateScannedPages(9),
      limit: 'ocrMsMax',
      msMax: 2_000,
      isFatal: false,
    },
  ];
}

function createQuickTrials(): TimeoutTrial[] {
  return [{ name: 'LibreOffice', bytes: letter, limit: 'convertMsMax', msMax: 200, isFatal: false }];
}

/**
 * Measures documents that exceed each kind of time limit; `folder` contains their files. Tools are replaced
 * by scripts that hang. `smoke`: only the quick trials.
 */
export async function measureTimeouts(folder: string, smoke: boolean): Promise<TimeoutResult[]> {
  const host = await createHostWithHangingTools(folder);
  try {
    const found: TimeoutResult[] = [];
    const chosen = smoke ? createQuickTrials() : createTrials();
    for (const trial of chosen) found.push(await runTrial(host, trial, folder));
    return found;
  } finally {
    await host.close();
  }
}

async function runTrial(host: ParserHost, trial: TimeoutTrial, folder: string): Promise<TimeoutResult> {
  const { name, bytes, limit, msMax, isFatal } = trial;
  const file = join(folder, randomUUID());
  await writeFile(file, bytes);
  const warmUpFile = join(folder, randomUUID());
  await writeFile(warmUpFile, generateScannedPages(1));
  await host.parse({ kind: 'parse', file: warmUpFile, limits: { ocrPageMsMax: 1 } });
  const limits: Partial<ParseLimits> = { [limit]: msMax };
  const start = performance.now();
  const outcome = await host.parse({ kind: 'parse', file, limits });
  const ms = performance.now() - start;
  const message = isFailedOutcome(outcome) ? outcome.failure.message : outcome.warnings.join(' ');
  return { name, msMax, attempts: isFatal ? processLimits.attemptsMax : 1, ms, message };
}

async function createHostWithHangingTools(folder: string): Promise<ParserHost> {
  const script = join(folder, 'hangs');
  await writeFile(script, '#!/bin/sh\nsleep 600\n');
  await chmod(script, 0o755);
  const tools = { ...findOptionalTools(), soffice: script, tesseract: script };
  const toolFolder = join(folder, 'tools');
  await mkdir(toolFolder);
  const runner = new ToolRunner({
    tools,
    sandbox: noSandbox,
    folder: toolFolder,
    createUniqueName: randomUUID,
    getFreeBytes,
  });
  const ocrEngine = chooseOcrEngine({
    engine: 'tesseract',
    languages: 'eng',
    installedLanguages: ['eng'],
    runner,
    disabledReason: null,
    embeddedEntry: '',
    missingCoreFiles: [],
    dataFolder: null,
    languagesFolder: join(toolFolder, 'languages'),
  });
  const converted = { folder, find: async () => null, add: async (_: string, file: string) => file };
  const toolServer = new ToolServer({
    runner,
    ocrEngine,
    converted,
    office: true,
    disabledReason: null,
    runningMax: 1,
    createUniqueName: randomUUID,
  });
  return new ParserHost({
    entry: fileURLToPath(new URL('../../workers/parser-process.js', import.meta.url)),
    prlimit: tools.prlimit,
    sandbox: noSandbox,
    onProcess: () => {},
    tools: toolServer,
  });
}
