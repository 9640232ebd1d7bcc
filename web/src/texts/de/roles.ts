import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/roles.ts';

export const texts: Translation<typeof english> = {
  owner: 'Inhaber',
  fullAccessIncludingMembersBilling:
    'Voller Zugriff, einschließlich Mitglieder, Abrechnung, Audit-Protokoll und Löschen der Organisation',
  admin: 'Admin',
  memberPermissionsPlusManagingApi: 'Rechte eines Mitglieds und Verwaltung der API-Schlüssel',
  member: 'Mitglied',
  managesCollectionsAndDocumentsAnd: 'Verwaltet Sammlungen und Dokumente und kann Mitglieder einladen',
};
