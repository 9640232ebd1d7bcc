import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/audit.ts';

export const texts: Translation<typeof english> = {
  tooManyEntriesToExport:
    'Trop d’entrées pour un export dans le navigateur. Choisissez une période plus courte ou utilisez « quarry audit export ».',
  auditLog: 'Journal d’audit',
  ownersOnly: 'Propriétaires uniquement',
  onlyOwnersOfThisOrganization:
    'Seuls les propriétaires de cette organisation peuvent voir le journal d’audit.',
  signInsChangesToMembers:
    'Connexions, modifications des membres, des clés API et de l’organisation, et tentatives refusées',
  from: 'Du',
  to: 'Au',
  noEntriesInThisPeriod: 'Aucune entrée pour cette période.',
  showOlderEntries: 'Afficher les entrées plus anciennes',
  unknown: 'Inconnu',
  server: 'Serveur',
  administrator: 'Administrateur',
  keyKey: 'Clé {key}',
  time: 'Heure',
  actor: 'Acteur',
  action: 'Action',
  target: 'Cible',
  address: 'Adresse',
  countEntriesExported: { one: '{count} entrée exportée.', other: '{count} entrées exportées.' },
  exportingCountEntries: {
    one: 'Export en cours : {count} entrée',
    other: 'Export en cours : {count} entrées',
  },
  export: 'Exporter',
  csvForSpreadsheets: 'CSV, pour tableurs',
  jsonLinesForPrograms: 'JSON Lines, pour programmes',
};
