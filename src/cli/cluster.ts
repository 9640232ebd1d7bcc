import { join, resolve } from 'node:path';
import { formatCount } from '../core/format.ts';
import { secretsFile } from '../storage/installation-secrets.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';

export const clusterCommands: readonly CommandSpec[] = [
  {
    usage: 'cluster import <data-directory>',
    settings: 'client',
    summary:
      'copy the data directory of a stopped server into the empty database of QUARRY_STORE and its files to QUARRY_FILES, and compare the copy',
    options: [jsonOption],
    examples: [
      'QUARRY_STORE=postgres://quarry:password@127.0.0.1/quarry QUARRY_FILES=file:///shared/quarry quarry cluster import /srv/quarry',
    ],
    interrupted: 'the next import continues; until then no server starts on the database',
    run: importDirectory,
  },
];

const phases = { files: 'files stored and compared', rows: 'rows copied', check: 'rows compared' } as const;

async function importDirectory(
  { loaded, terminal, signal }: CommandContext,
  args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const path = resolve(args[0]!);
  const { importDirectory: importInto } = await import('../app/cluster-commands.ts');
  const result = await importInto({
    settings: loaded.settings,
    path,
    signal,
    onProgress: ({ phase, done }) => {
      if (terminal.isInteractive) terminal.redrawLine(`${done} ${phases[phase]}`);
    },
  });
  if (terminal.isInteractive) terminal.redrawLine('');
  if (options.json === true) {
    const { rows, files, isContinued } = result;
    terminal.out(JSON.stringify({ rows, files, continued: isContinued }));
    return exitCodes.done;
  }
  terminal.out(
    `${result.isContinued ? 'Continued an interrupted import. ' : ''}Imported ${path}: ${formatCount(result.rows, 'row')} and ${formatCount(result.files, 'file')}, all compared with the source.`,
  );
  terminal.note(
    `Copy ${join(path, secretsFile)} to the data directory of the server on PostgreSQL, and do not start a server on ${path} again.\n`,
  );
  return exitCodes.done;
}
