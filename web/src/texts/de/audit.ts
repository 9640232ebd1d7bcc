import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/audit.ts';

export const texts: Translation<typeof english> = {
  tooManyEntriesToExport:
    'Zu viele Einträge für den Export im Browser. Wählen Sie einen kürzeren Zeitraum oder verwenden Sie „quarry audit export“.',
  auditLog: 'Audit-Protokoll',
  ownersOnly: 'Nur für Inhaber',
  onlyOwnersOfThisOrganization: 'Nur Inhaber dieser Organisation können das Audit-Protokoll sehen.',
  signInsChangesToMembers:
    'Anmeldungen, Änderungen an Mitgliedern, API-Schlüsseln und der Organisation sowie abgelehnte Versuche',
  from: 'Von',
  to: 'Bis',
  noEntriesInThisPeriod: 'Keine Einträge in diesem Zeitraum.',
  showOlderEntries: 'Ältere Einträge anzeigen',
  unknown: 'Unbekannt',
  server: 'Server',
  administrator: 'Administrator',
  keyKey: 'Schlüssel {key}',
  time: 'Zeit',
  actor: 'Akteur',
  action: 'Aktion',
  target: 'Ziel',
  address: 'Adresse',
  countEntriesExported: { one: '{count} Eintrag exportiert.', other: '{count} Einträge exportiert.' },
  exportingCountEntries: { one: 'Export läuft: {count} Eintrag', other: 'Export läuft: {count} Einträge' },
  export: 'Exportieren',
  csvForSpreadsheets: 'CSV, für Tabellenkalkulationen',
  jsonLinesForPrograms: 'JSON Lines, für Programme',
};
