import { AppError } from '../core/app-error.ts';
import type { AuditLogEntry, AuditLogResponse } from '../schemas/audit.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { timeOption } from './option-values.ts';

const pageMax = 1_000;

export const auditCommands: readonly CommandSpec[] = [
  {
    usage: 'audit export',
    settings: 'client',
    summary:
      'print the audit log of an organization, newest first (with the admin key, or the session of an owner as --key)',
    options: [
      { flags: '--installation', meaning: 'entries without an organization, such as sign-ins (admin key)' },
      {
        flags: '--format <format>',
        meaning: 'output format: one JSON object or one CSV row per line',
        choices: ['jsonl', 'csv'],
        default: 'jsonl',
      },
      {
        flags: '--since <time>',
        meaning: 'only entries from this time on, for example 2026-11-01 or 2026-11-01T08:00:00Z',
      },
      { flags: '--until <time>', meaning: 'only entries before this time' },
    ],
    examples: [
      'quarry audit export --organization 3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10 > audit.jsonl',
      'quarry audit export --installation --since 2026-11-01 --format csv',
    ],
    run: exportLog,
  },
];

/** Reads pages of the selected audit log. */
interface AuditLogSource {
  readonly read: (range: object) => Promise<AuditLogResponse>;
}

async function exportLog(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { read } = selectSource(context, options);
  const since = timeOption(options, 'since');
  const until = timeOption(options, 'until');
  const line = options.format === 'csv' ? csvLine : (entry: AuditLogEntry) => JSON.stringify(entry);
  if (options.format === 'csv') context.terminal.out(csvHeading);
  let cursor: string | null = null;
  do {
    const page: AuditLogResponse = await read({ since, before: until, cursor, limit: pageMax });
    for (const entry of page.entries) context.terminal.out(line(entry));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return exitCodes.done;
}

function selectSource(context: CommandContext, options: CommandOptions): AuditLogSource {
  const { organization, adminKey } = context.loaded.settings;
  const isInstallation = options.installation === true;
  if (organization === null && !isInstallation) {
    throw new AppError(
      'bad_request',
      'No organization selected. Set --organization or QUARRY_ORGANIZATION, or use --installation for entries without an organization.',
    );
  }
  const scope = isInstallation ? {} : { organization_id: organization };
  if (adminKey !== null || isInstallation) {
    // Without an admin key, --key may be the administrator's session.
    const caller = adminKey === null ? context.api : context.administration;
    return { read: (range) => caller.call('admin/get-audit-log', { ...scope, ...range }) };
  }
  return {
    read: (range) => context.api.callAt('/api/organizations/get-audit-log', { ...scope, ...range }),
  };
}

const csvHeading = 'at,action,actor,target,address,details,id';

function csvLine({ at, action, actor, target, address, details, id }: AuditLogEntry): string {
  const more = Object.keys(details).length === 0 ? '' : JSON.stringify(details);
  return [at, action, actor ?? '', target ?? '', address ?? '', more, id].map(csvCell).join(',');
}

/** Quotes a cell if needed; prefixes text that a spreadsheet would interpret as a formula. */
function csvCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
