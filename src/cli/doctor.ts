import { resolve } from 'node:path';
import type { Finding } from '../app/diagnostics/diagnose.ts';
import { AppError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import type { InspectOrganizationResponse } from '../schemas/admin.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { formatTable } from './text-layout.ts';

export const doctorCommand: CommandSpec = {
  usage: 'doctor',
  settings: 'client',
  summary:
    'check the installation on this machine: exit code 0 if all checks passed, 1 if a check failed, 4 if there are only warnings. With --organization: show the data of this organization in all tables and folders, exit code 1 if there is any (needs the admin key)',
  options: [
    { flags: '--data <folder>', meaning: 'data directory of the server (QUARRY_DATA)' },
    {
      flags: '--deep',
      meaning:
        'also read all data: compare files with their hashes and, while no server runs, the store with the index',
    },
    jsonOption,
  ],
  examples: [
    'quarry doctor',
    'quarry doctor --deep --json',
    'quarry doctor --organization 3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10',
  ],
  interrupted: 'nothing was changed',
  run: (context, args, options) =>
    context.loaded.settings.organization === null
      ? checkInstallation(context, options)
      : inspect(context, args, options),
};

const stateTexts: Readonly<Record<Finding['state'], string>> = {
  ok: 'ok',
  warning: 'WARNING',
  failed: 'FAILED',
  skipped: 'skipped',
};

async function checkInstallation(context: CommandContext, options: CommandOptions): Promise<number> {
  const { loaded, terminal, signal } = context;
  const { diagnose } = await import('../app/diagnostics/diagnose.ts');
  const data = typeof options.data === 'string' ? resolve(options.data) : loaded.settings.data;
  const settings = { ...loaded.settings, data };
  const findings: Finding[] = [];
  for await (const finding of diagnose({ settings, isDeep: options.deep === true, signal })) {
    findings.push(finding);
    if (options.json !== true) formatFinding(finding).forEach(terminal.out);
  }
  const has = (state: Finding['state']) => findings.some((finding) => finding.state === state);
  const exitCode = has('failed') ? exitCodes.failed : has('warning') ? exitCodes.warnings : exitCodes.done;
  const state = has('failed') ? 'failed' : has('warning') ? 'warning' : 'ok';
  if (options.json === true) terminal.out(JSON.stringify({ state, findings }));
  return exitCode;
}

function formatFinding({ check, state, detail, advice }: Finding): string[] {
  const line = `${stateTexts[state].padEnd(9)}${check}: ${detail}`;
  return advice === null ? [line] : [line, `         ${advice}`];
}

async function inspect(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { organization } = context.loaded.settings;
  assert(organization !== null, 'the command checks the installation without one');
  if (options.deep === true || options.data !== undefined)
    throw new AppError(
      'bad_request',
      '--deep and --data check the installation; use them without --organization and QUARRY_ORGANIZATION.',
    );
  const found = await context.administration.call<InspectOrganizationResponse>('admin/inspect-organization', {
    organization_id: organization,
  });
  const isClean = found.state === 'gone' && found.remains.length === 0 && found.orphans.length === 0;
  if (options.json === true) context.terminal.out(JSON.stringify(found));
  else formatReport(found).forEach(context.terminal.out);
  return isClean ? exitCodes.done : exitCodes.failed;
}

const stateLabels: Readonly<Record<InspectOrganizationResponse['state'], string>> = {
  exists: 'exists',
  deleting: 'is deleted, and its data is being removed',
  gone: 'does not exist',
};

function formatReport({ organization_id, state, removed_at, remains, orphans }: InspectOrganizationResponse) {
  const since = removed_at === null ? '' : `; its data was removed at ${removed_at}`;
  const rows = (found: typeof remains) => found.map(({ place, count }) => [place, String(count)]);
  return [
    `The organization ${organization_id} ${stateLabels[state]}${since}.`,
    ...(remains.length === 0
      ? ['No rows in the store refer to it.']
      : formatTable(['Remaining rows', '>Rows'], rows(remains))),
    ...(orphans.length === 0
      ? ['No orphaned collections, documents, files or images.']
      : formatTable(['Orphans of all organizations', '>Count'], rows(orphans))),
  ];
}
