import type { AuditLogEntry, AuditLogRange } from '../../../../src/schemas/audit.ts';
import { ApiError } from '../../server/api-call.ts';
import { getAuditLog } from '../../server/team.ts';
import { texts } from '../../texts/en/audit.ts';

export type ExportFormat = 'csv' | 'jsonl';

const pageSize = 1_000;
/** Maximum number of entries. The command line exports more without holding them in memory. */
const entriesMax = 200_000;
const columns = ['id', 'at', 'actor', 'action', 'target', 'address'] as const;

/**
 * Saves part of the audit log as a file, newest first. `onProgress` receives the number of entries so far.
 */
export async function exportAuditLog(
  range: AuditLogRange,
  format: ExportFormat,
  onProgress: (entries: number) => void,
): Promise<number> {
  const lines = format === 'csv' ? [[...columns, 'details'].join(',')] : [];
  let entries = 0;
  for (let cursor: string | null = null; ; ) {
    const page = await getAuditLog({ ...range, limit: pageSize, ...(cursor === null ? {} : { cursor }) });
    lines.push(...page.entries.map(format === 'csv' ? csvLine : (entry) => JSON.stringify(entry)));
    entries += page.entries.length;
    onProgress(entries);
    cursor = page.next_cursor;
    if (cursor === null) break;
    if (entries >= entriesMax) {
      throw new ApiError(texts.tooManyEntriesToExport, {
        status: 0,
      });
    }
  }
  save(`audit.${format}`, `${lines.join('\r\n')}\r\n`, format === 'csv' ? 'text/csv' : 'application/jsonl');
  return entries;
}

function csvLine(entry: AuditLogEntry): string {
  return [...columns.map((name) => entry[name]), JSON.stringify(entry.details)].map(csvField).join(',');
}

/**
 * Encodes a CSV field, quoted if necessary. Text that a spreadsheet would parse as a formula is prefixed with
 * an apostrophe.
 */
function csvField(value: string | null): string {
  const text = /^[=+\-@\t\r]/.test(value ?? '') ? `'${value}` : (value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function save(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
