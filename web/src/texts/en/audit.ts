import { localize } from '../localize.ts';

export const texts = localize('audit', {
  tooManyEntriesToExport:
    'Too many entries to export in the browser. Select a shorter period or use "quarry audit export".',
  auditLog: 'Audit log',
  ownersOnly: 'Owners only',
  onlyOwnersOfThisOrganization: 'Only owners of this organization can view the audit log.',
  signInsChangesToMembers:
    'Sign-ins, changes to members, API keys and the organization, and rejected attempts',
  from: 'From',
  to: 'To',
  noEntriesInThisPeriod: 'No entries in this period.',
  showOlderEntries: 'Show older entries',
  unknown: 'Unknown',
  server: 'Server',
  administrator: 'Administrator',
  keyKey: 'Key {key}',
  time: 'Time',
  actor: 'Actor',
  action: 'Action',
  target: 'Target',
  address: 'Address',
  countEntriesExported: { one: '{count} entry exported.', other: '{count} entries exported.' },
  exportingCountEntries: { one: 'Exporting: {count} entry', other: 'Exporting: {count} entries' },
  export: 'Export',
  csvForSpreadsheets: 'CSV, for spreadsheets',
  jsonLinesForPrograms: 'JSON Lines, for programs',
});
