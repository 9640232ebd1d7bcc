import { AppError } from '../core/app-error.ts';
import type { InspectOrganizationResponse } from '../schemas/admin.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { formatTable } from './text-layout.ts';

export const doctorCommand: CommandSpec = {
  usage: 'doctor',
  settings: 'client',
  summary:
    'show the remaining data of an organization in all tables and folders; exit code 1 if data remains (needs the admin key)',
  options: [jsonOption],
  examples: ['quarry doctor --organization 3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10'],
  run: inspect,
};

async function inspect(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { organization } = context.loaded.settings;
  if (organization === null)
    throw new AppError('bad_request', 'No organization selected. Set --organization or QUARRY_ORGANIZATION.');
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
