import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../base/app-error.ts';
import { projectRoot } from '../base/root.ts';
import {
  type OptionalToolName,
  type OptionalTools,
  optionalToolNames,
  tesseractLanguages,
  toolNotes,
  toolVersion,
} from './optional-tools.ts';
import { chooseRecogniser, type OcrEngineName, type Recogniser } from './recogniser.ts';
import type { Sandbox } from './sandbox.ts';
import { type Isolation, type IsolationMode, openIsolation } from './sandbox-probe.ts';
import { type ConvertedFiles, ToolDesk } from './tool-desk.ts';
import { ToolRunner } from './tool-runner.ts';

export interface OpenToolsOptions {
  /** The programs of this host. */
  readonly found: OptionalTools;
  readonly isolation: IsolationMode;
  /** Folder of all data of the server. */
  readonly dataFolder: string;
  readonly ocrEngine: OcrEngineName;
  readonly ocrLanguages: string;
  /** Folder with language data of the operator for the embedded engine; null: there is none. */
  readonly ocrDataFolder: string | null;
  /** False: LibreOffice is not used. */
  readonly office: boolean;
  /** Programs of a kind that run at the same time. */
  readonly runningMax: number;
  /** Folder of temporary files; whatever is in it is deleted. On the file system of `converted.folder`. */
  readonly folder: string;
  readonly converted: ConvertedFiles;
  readonly freshName: () => string;
}

/** What one tool, or the OCR engine, is on this host, as a person reads it. */
export interface ToolState {
  readonly name: string;
  readonly found: boolean;
  readonly detail: string;
}

export interface OpenedTools {
  readonly desk: ToolDesk;
  readonly isolation: Isolation;
  /** The tools and the OCR engine, with versions as far as they are known yet. */
  states(): readonly ToolState[];
  /** Resolves with the states when every tool has told its version. */
  readonly asked: Promise<readonly ToolState[]>;
}

/**
 * Looks what this host has and opens the desk. Rejects with a whole sentence when the settings ask for what is not there.
 */
export async function openTools(options: OpenToolsOptions): Promise<OpenedTools> {
  const { found } = options;
  const isolation = await openIsolation(options.isolation, {
    ...options,
    tools: found,
    folderOf: (sandbox) => toolFolder(sandbox, options),
    codeFile: join(projectRoot, 'package.json'),
  });
  const refusal = refusalOf(isolation);
  const tools = refusal === null ? found : withoutPrograms(found);
  const installed = await tesseractLanguages(tools);
  const { freshName, converted, office, runningMax } = options;
  const { sandbox } = isolation;
  const folder = toolFolder(sandbox, options);
  const runner = new ToolRunner({ tools, sandbox, folder, freshName, freeBytes });
  const recogniser = chooseRecogniser({
    engine: options.ocrEngine,
    languages: options.ocrLanguages,
    ...{ runner, refusal, installed },
    dataFolder: options.ocrDataFolder,
    languagesFolder: join(folder, 'languages'),
    embeddedEntry: fileURLToPath(new URL('../../workers/ocr-process.js', import.meta.url)),
  });
  const versions = new Map<OptionalToolName, string | null>();
  const states = () => [
    { name: 'isolation', found: isolation.sandbox.level !== 'none', detail: isolation.detail },
    ocrState(recogniser),
    ...optionalToolNames.map((name): ToolState => {
      const detail =
        tools[name] === null && found[name] !== null
          ? (refusal ?? '')
          : detailOf(name, tools[name], versions.get(name) ?? null);
      return { name: `tool ${name}`, found: tools[name] !== null, detail };
    }),
  ];
  const asked = Promise.all(
    optionalToolNames.map(async (name) => versions.set(name, await toolVersion(tools, name))),
  ).then(states);
  const desk = new ToolDesk({ runner, recogniser, converted, office, refusal, runningMax, freshName });
  return { desk, isolation, states, asked };
}

/** Why installed programs are not run; null: they are. */
function refusalOf({ mode, isFull, detail }: Isolation): string | null {
  if (mode !== 'required' || isFull) return null;
  return `Programs are not run: QUARRY_TOOLS_ISOLATION is required, but the isolation in force is ${detail}.`;
}

/** What is left are the programs of the sandbox itself. */
function withoutPrograms(tools: OptionalTools): OptionalTools {
  return { ...tools, soffice: null, tesseract: null, pdftoppm: null, 'heif-convert': null };
}

/**
 * The folder of temporary files; made where it is missing. A user that may not enter the data directory gets one outside
 * of it, named after the data directory, so that the next start finds and clears it.
 */
function toolFolder(sandbox: Sandbox, { dataFolder, folder }: OpenToolsOptions): string {
  if (sandbox.users === null) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  }
  const name = createHash('sha256').update(resolve(dataFolder)).digest('hex').slice(0, 16);
  const outside = join(tmpdir(), `quarry-tools-${name}`);
  mkdirSync(outside, { recursive: true });
  const { uid } = lstatSync(outside);
  if (!lstatSync(outside).isDirectory() || uid !== process.getuid?.())
    throw new AppError('unavailable', `${outside} belongs to another user: delete it and start again.`);
  chmodSync(outside, 0o711); // may be entered, not listed
  return outside;
}

/** Room on the disk of a folder. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

function ocrState({ name }: Recogniser): ToolState {
  return { name: 'ocr', found: name !== 'off', detail: name };
}

function detailOf(name: OptionalToolName, path: string | null, words: string | null): string {
  if (path !== null) return words === null ? path : `${path}, ${words}`;
  const { packages, does } = toolNotes[name];
  return `not installed (optional): it ${does}; Debian: ${packages}`;
}
