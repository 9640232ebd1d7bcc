import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** Optional programs that make parsing safer or better; none is required. */
export const optionalToolNames = [
  'soffice',
  'tesseract',
  'pdftoppm',
  'heif-convert',
  'bwrap',
  'prlimit',
  'unshare',
  'setpriv',
  'nice',
] as const;
export type OptionalToolName = (typeof optionalToolNames)[number];

/** Absolute path of each tool, or null when it was not found. */
export type OptionalTools = Readonly<Record<OptionalToolName, string | null>>;

/** Function of each tool, and the Debian package that contains it. */
export const toolDescriptions: Readonly<
  Record<OptionalToolName, { readonly packages: string; readonly purpose: string }>
> = {
  soffice: {
    packages: 'libreoffice-writer-nogui libreoffice-impress-nogui',
    purpose: 'finds page breaks and renders pages of Office files',
  },
  tesseract: { packages: 'tesseract-ocr', purpose: 'runs OCR on scans, faster than the embedded engine' },
  pdftoppm: { packages: 'poppler-utils', purpose: 'renders PDF pages whose Asian fonts are not embedded' },
  'heif-convert': { packages: 'libheif-examples', purpose: 'converts HEIC images' },
  prlimit: { packages: 'util-linux', purpose: 'limits the memory of parser processes and tools' },
  bwrap: { packages: 'bubblewrap', purpose: 'isolates tools and parsers from data and network' },
  unshare: { packages: 'util-linux', purpose: 'isolates tools and parsers where bwrap is missing' },
  setpriv: {
    packages: 'util-linux',
    purpose: 'stops tools with the server and drops their privileges',
  },
  nice: { packages: 'coreutils', purpose: 'lowers the priority of tools' },
};

/** Fixed folders instead of `PATH`, so that a program of the same name cannot be injected. */
const standardFolders = [
  '/usr/bin',
  '/bin',
  '/usr/sbin',
  '/sbin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
] as const;

/** Returns the tools installed on this host. */
export function findOptionalTools(folders: readonly string[] = standardFolders): OptionalTools {
  const paths = optionalToolNames.map((name) => [name, findExecutable(name, folders)] as const);
  return Object.fromEntries(paths) as Record<OptionalToolName, string | null>;
}

function findExecutable(name: string, folders: readonly string[]): string | null {
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // every error means that the file cannot be executed
  }
}

const runMsMax = 20_000;

/** Flag that prints the version of each tool; heif-convert has none. */
const versionFlags: Readonly<Partial<Record<OptionalToolName, string>>> = {
  soffice: '--version',
  tesseract: '--version',
  pdftoppm: '-v',
};

/**
 * Returns the first line of a tool's version output, for example `tesseract 5.3.0`; null when it prints
 * nothing.
 */
export async function readToolVersion(tools: OptionalTools, name: OptionalToolName): Promise<string | null> {
  const [path, flag] = [tools[name], versionFlags[name]];
  if (path === null || flag === undefined) return null;
  const output = await runForOutput(path, [flag]);
  return output?.trim().split('\n')[0]?.trim().slice(0, 80) || null;
}

/** Returns the languages for which the tesseract binary has data, by its names; empty without the binary. */
export async function listTesseractLanguages({ tesseract }: OptionalTools): Promise<readonly string[]> {
  if (tesseract === null) return [];
  const lines = (await runForOutput(tesseract, ['--list-langs']))?.split('\n').slice(1) ?? [];
  return lines.map((line) => line.trim()).filter((line) => /^[A-Za-z][\w/-]*$/.test(line) && line !== 'osd');
}

/** Returns standard output and error of a program; null when it fails or exceeds the time limit. */
function runForOutput(path: string, flags: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { timeout: runMsMax, killSignal: 'SIGKILL', env: { PATH: '/usr/bin:/bin' } } as const;
    execFile(path, flags, options, (error, stdout, stderr) => {
      resolve(error === null ? `${stdout}${stderr}` : null);
    });
  });
}
