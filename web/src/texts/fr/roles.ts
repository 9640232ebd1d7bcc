import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/roles.ts';

export const texts: Translation<typeof english> = {
  owner: 'Propriétaire',
  fullAccessIncludingMembersBilling:
    'Accès complet, y compris aux membres, à la facturation, au journal d’audit et à la suppression de l’organisation',
  admin: 'Admin',
  memberPermissionsPlusManagingApi: 'Droits d’un membre, plus la gestion des clés API',
  member: 'Membre',
  managesCollectionsAndDocumentsAnd: 'Gère les collections et les documents et peut inviter des membres',
};
