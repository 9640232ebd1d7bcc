import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runQuarry as runCommand } from '../cli/quarry.ts';
import type { Test } from '../support/tap.ts';
import { adminKey, TestServer } from './server.ts';

const cli = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'cli', 'main.js');

/** Command line without the loaders of the test runner, for `spawn('env', …)`. */
export const quarryCommand = (...words: readonly string[]): string[] => [
  ...['-u', 'NODE_OPTIONS', process.execPath, cli],
  ...words,
];

export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs a command of the command line to its end. `variables`: QUARRY_* without the prefix. */
export async function runQuarry(
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const own = Object.entries(variables).map(([name, value]) => [`QUARRY_${name}`, value]);
  const { code, out, err } = await runCommand(words, {
    variables: { QUARRY_ADMIN_KEY: adminKey, ...Object.fromEntries(own) },
  });
  return { code, output: out, errors: err };
}

/** Runs a command that must succeed; returns its JSON. */
export async function runForJson(
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the command
): Promise<any> {
  const { code, output, errors } = await runQuarry([...words, '--json'], variables);
  if (code !== 0) throw new Error(`quarry ${words.join(' ')} ended with ${code}: ${errors}`);
  return JSON.parse(output);
}

export function createFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-backup-e2e-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts a server on a restored data directory. */
export function startRestored(t: Test, path: string): Promise<TestServer> {
  return TestServer.start(t, { DATA: path });
}
