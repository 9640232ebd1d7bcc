import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** Programs that make parsing safer or richer when the host has them; nothing needs them. */
const optionalToolNames = ['prlimit', 'unshare', 'soffice', 'tesseract', 'pdftoppm'] as const;
type OptionalToolName = (typeof optionalToolNames)[number];

/** Absolute path of each tool, or null where it was not found. */
export type OptionalTools = Readonly<Record<OptionalToolName, string | null>>;

/** Fixed folders instead of `PATH`, so that nobody can slip in a program of the same name. */
const standardFolders = [
  '/usr/bin',
  '/bin',
  '/usr/sbin',
  '/sbin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
] as const;

/** What this host offers; cheap enough to ask whenever readiness is reported. */
export function optionalTools(folders: readonly string[] = standardFolders): OptionalTools {
  const found = optionalToolNames.map((name) => [name, locate(name, folders)] as const);
  return Object.fromEntries(found) as Record<OptionalToolName, string | null>;
}

function locate(name: string, folders: readonly string[]): string | null {
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // every reason means the same: it cannot be run
  }
}
