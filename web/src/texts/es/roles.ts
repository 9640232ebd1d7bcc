import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/roles.ts';

export const texts: Translation<typeof english> = {
  owner: 'Propietario',
  fullAccessIncludingMembersBilling:
    'Acceso completo, incluidos miembros, facturación, registro de auditoría y eliminación de la organización',
  admin: 'Administrador',
  memberPermissionsPlusManagingApi: 'Permisos de miembro y gestión de las claves de API',
  member: 'Miembro',
  managesCollectionsAndDocumentsAnd: 'Gestiona colecciones y documentos y puede invitar a miembros',
};
