import { localize } from '../localize.ts';

export const texts = localize('roles', {
  owner: 'Owner',
  fullAccessIncludingMembersBilling:
    'Full access, including members, billing, audit log and deletion of the organization',
  admin: 'Admin',
  memberPermissionsPlusManagingApi: 'Member permissions, plus managing API keys',
  member: 'Member',
  managesCollectionsAndDocumentsAnd: 'Manages collections and documents and can invite members',
});
