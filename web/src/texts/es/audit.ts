import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/audit.ts';

export const texts: Translation<typeof english> = {
  tooManyEntriesToExport:
    'Hay demasiadas entradas para exportarlas en el navegador. Elija un período más corto o use «quarry audit export».',
  auditLog: 'Registro de auditoría',
  ownersOnly: 'Solo propietarios',
  onlyOwnersOfThisOrganization:
    'Solo los propietarios de esta organización pueden ver el registro de auditoría.',
  signInsChangesToMembers:
    'Inicios de sesión, cambios en miembros, claves de API y la organización, e intentos rechazados',
  from: 'Desde',
  to: 'Hasta',
  noEntriesInThisPeriod: 'No hay entradas en este período.',
  showOlderEntries: 'Mostrar entradas anteriores',
  unknown: 'Desconocido',
  server: 'Servidor',
  administrator: 'Administrador',
  keyKey: 'Clave {key}',
  time: 'Hora',
  actor: 'Autor',
  action: 'Acción',
  target: 'Objeto',
  address: 'Dirección',
  countEntriesExported: { one: '{count} entrada exportada.', other: '{count} entradas exportadas.' },
  exportingCountEntries: { one: 'Exportando: {count} entrada', other: 'Exportando: {count} entradas' },
  export: 'Exportar',
  csvForSpreadsheets: 'CSV, para hojas de cálculo',
  jsonLinesForPrograms: 'JSON Lines, para programas',
};
