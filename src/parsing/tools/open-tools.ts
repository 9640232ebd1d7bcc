import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { AppError } from '../../core/app-error.ts';
import { compiledRoot, projectRoot } from '../../core/root.ts';
import { listMissingCoreFiles } from '../ocr/ocr-core.ts';
import { chooseOcrEngine, type OcrEngine, type OcrEngineName } from '../ocr/ocr-engine.ts';
import {
  listTesseractLanguages,
  type OptionalToolName,
  type OptionalTools,
  optionalToolNames,
  readToolVersion,
  toolDescriptions,
} from './optional-tools.ts';
import type { Sandbox } from './sandbox.ts';
import { detectIsolation, type Isolation, type IsolationMode } from './sandbox-probe.ts';
import { prepareToolFolder, ToolRunner } from './tool-runner.ts';
import { type ConvertedFileStore, ToolServer } from './tool-server.ts';

export interface OpenToolsOptions {
  /** Programs found on this host. */
  readonly installedTools: OptionalTools;
  readonly isolation: IsolationMode;
  /** Folder of all server data. */
  readonly dataFolder: string;
  readonly ocrEngine: OcrEngineName;
  readonly ocrLanguages: string;
  /** Folder with the operator's language data for the embedded engine; null when not configured. */
  readonly ocrDataFolder: string | null;
  /** False: LibreOffice is not used. */
  readonly office: boolean;
  /** Maximum number of concurrent programs of each kind. */
  readonly runningMax: number;
  /**
   * Folder of temporary files; existing contents are deleted. Must be on the file system of
   * `converted.folder`.
   */
  readonly folder: string;
  readonly converted: ConvertedFileStore;
  readonly createUniqueName: () => string;
}

/** State of a tool or of the OCR engine on this host, in readable form. */
export interface ToolState {
  readonly name: string;
  readonly found: boolean;
  readonly detail: string;
}

export interface ToolEnvironment {
  readonly toolServer: ToolServer;
  readonly isolation: Isolation;
  /** Working directory of parser processes, in which the next start finds those of a killed server. */
  readonly workingFolder: string;
  /** Returns the states of the tools and the OCR engine, with the versions known so far. */
  listStates(): readonly ToolState[];
  /** Reads the versions of the tools, which `listStates` then contains. Takes .2 s of CPU time, mostly for LibreOffice. */
  readVersions(): Promise<void>;
}

/**
 * Detects the tools of this host and opens the tool server. Rejects with a complete sentence when the
 * settings require a tool that is not available.
 */
export async function openToolEnvironment(options: OpenToolsOptions): Promise<ToolEnvironment> {
  const { installedTools: found } = options;
  const isolation = await detectIsolation(options.isolation, {
    ...options,
    tools: found,
    folderOf: (sandbox) => openToolFolder(sandbox, options),
    codeFile: join(projectRoot, 'package.json'),
  });
  const disabledReason = getDisabledReason(isolation);
  const tools = disabledReason === null ? found : disablePrograms(found);
  const installedLanguages = await listTesseractLanguages(tools);
  const { createUniqueName: freshName, converted, office, runningMax } = options;
  const { sandbox } = isolation;
  const folder = openToolFolder(sandbox, options);
  await prepareToolFolder(folder);
  const runner = new ToolRunner({ tools, sandbox, folder, createUniqueName: freshName, getFreeBytes });
  const ocrEngine = chooseOcrEngine({
    engine: options.ocrEngine,
    languages: options.ocrLanguages,
    runner,
    disabledReason,
    installedLanguages,
    dataFolder: options.ocrDataFolder,
    languagesFolder: join(folder, 'languages'),
    embeddedEntry: join(compiledRoot, 'workers', 'ocr-process.js'),
    missingCoreFiles: listMissingCoreFiles(),
  });
  const versions = new Map<OptionalToolName, string | null>();
  const states = () => [
    { name: 'isolation', found: isolation.sandbox.level !== 'none', detail: isolation.detail },
    describeOcr(ocrEngine),
    ...optionalToolNames.map((name): ToolState => {
      const detail =
        tools[name] === null && found[name] !== null
          ? (disabledReason ?? '')
          : describeTool(name, tools[name], versions.get(name) ?? null);
      return { name: `tool ${name}`, found: tools[name] !== null, detail };
    }),
  ];
  const readVersions = async () => {
    for (const name of optionalToolNames) versions.set(name, await readToolVersion(tools, name));
  };
  const toolServer = new ToolServer({
    runner,
    ocrEngine,
    converted,
    office,
    disabledReason,
    runningMax,
    createUniqueName: freshName,
  });
  return { toolServer, isolation, workingFolder: folder, listStates: states, readVersions };
}

/** Returns the reason why installed programs must not run; null if they may. */
function getDisabledReason({ mode, isFull, detail }: Isolation): string | null {
  if (mode !== 'required' || isFull) return null;
  return `External programs are disabled: QUARRY_TOOLS_ISOLATION is required, but only this isolation is available: ${detail}.`;
}

/** Removes all programs except those of the sandbox itself. */
function disablePrograms(tools: OptionalTools): OptionalTools {
  return { ...tools, soffice: null, tesseract: null, pdftoppm: null, 'heif-convert': null };
}

/**
 * Returns the folder of temporary files and creates it if needed. A sandbox user that may not enter the data
 * directory gets a folder outside of it, named after the data directory, so that the next start finds and
 * clears it.
 */
function openToolFolder(sandbox: Sandbox, { dataFolder, folder }: OpenToolsOptions): string {
  if (sandbox.users === null) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  }
  const name = createHash('sha256').update(resolve(dataFolder)).digest('hex').slice(0, 16);
  const externalFolder = join(tmpdir(), `quarry-tools-${name}`);
  mkdirSync(externalFolder, { recursive: true });
  const { uid } = lstatSync(externalFolder);
  if (!lstatSync(externalFolder).isDirectory() || uid !== process.getuid?.())
    throw new AppError(
      'unavailable',
      `${externalFolder} is owned by another user. Delete it and restart the server.`,
    );
  chmodSync(externalFolder, 0o711); // can be entered but not listed
  return externalFolder;
}

/** Returns the free bytes on the file system of a folder. */
export async function getFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

function describeOcr({ name }: OcrEngine): ToolState {
  return { name: 'ocr', found: name !== 'off', detail: name };
}

function describeTool(name: OptionalToolName, path: string | null, version: string | null): string {
  if (path !== null) return version === null ? path : `${path}, ${version}`;
  const { packages, purpose } = toolDescriptions[name];
  return `not installed (optional; ${purpose}); Debian packages: ${packages}`;
}
