import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type OptionalToolName,
  optionalToolNames,
  optionalTools,
  tesseractLanguages,
  toolNotes,
  toolVersion,
  unshareFlags,
} from './optional-tools.ts';
import { chooseRecogniser, type OcrEngineName, type Recogniser } from './recogniser.ts';
import { type ConvertedFiles, ToolDesk } from './tool-desk.ts';
import { ToolRunner } from './tool-runner.ts';

export interface OpenToolsOptions {
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
  /** The tools and the OCR engine, with versions as far as they are known yet. */
  states(): readonly ToolState[];
  /** Resolves with the states when every tool has told its version. */
  readonly asked: Promise<readonly ToolState[]>;
}

/**
 * Looks what this host has and opens the desk. Rejects with a whole sentence when the settings ask for what is not there.
 */
export async function openTools(options: OpenToolsOptions): Promise<OpenedTools> {
  const tools = optionalTools();
  const [unshare, installed] = await Promise.all([unshareFlags(tools), tesseractLanguages(tools)]);
  const { folder, freshName, converted, office, runningMax } = options;
  const runner = new ToolRunner({ tools, unshare, folder, freshName, freeBytes });
  const recogniser = chooseRecogniser({
    engine: options.ocrEngine,
    languages: options.ocrLanguages,
    runner,
    installed,
    dataFolder: options.ocrDataFolder,
    linksFolder: join(folder, 'languages'),
    embeddedEntry: fileURLToPath(new URL('../../workers/ocr-process.js', import.meta.url)),
  });
  const versions = new Map<OptionalToolName, string | null>();
  const states = () => [
    ocrState(recogniser),
    ...optionalToolNames.map((name): ToolState => {
      const path = tools[name];
      const isolated = name !== 'unshare' || unshare !== null;
      const words = isolated
        ? (versions.get(name) ?? null)
        : 'not permitted here: tools can reach the network';
      return { name: `tool ${name}`, found: path !== null, detail: detailOf(name, path, words) };
    }),
  ];
  const asked = Promise.all(
    optionalToolNames.map(async (name) => versions.set(name, await toolVersion(tools, name))),
  ).then(states);
  const desk = new ToolDesk({ runner, recogniser, converted, office, runningMax, freshName });
  return { desk, states, asked };
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
