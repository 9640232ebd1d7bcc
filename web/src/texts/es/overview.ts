import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/overview.ts';

export const texts: Translation<typeof english> = {
  uploadDocuments: 'Subir documentos',
  uploadFilesOrFoldersPdf:
    'Suba archivos o carpetas: PDF, Office, HTML, correo, libros electrónicos, escaneos y texto. Todos los datos permanecen en este servidor.',
  runAQuery: 'Ejecutar una consulta',
  enterAQuestionMatchingText:
    'Escriba una pregunta. El texto que coincide se resalta y se muestra con su página.',
  search: 'Buscar',
  useTheApi: 'Usar la API',
  createAnApiKeyAnd:
    'Cree una clave de API y copie la solicitud de la página de búsqueda como curl, Node.js o Python.',
  getAnApiKeyFrom:
    'Pida una clave de API a un propietario o administrador y copie la solicitud de la página de búsqueda como curl, Node.js o Python.',
  createKey: 'Crear clave',
  viewKeys: 'Ver claves',
  firstSteps: 'Primeros pasos',
  countDocumentsAreBeingIndexed: {
    one: '{count} documento se está indexando y todavía no se puede encontrar.',
    other: '{count} documentos se están indexando y todavía no se pueden encontrar.',
  },
  overview: 'Resumen',
  followTheseStepsToGet: 'Siga estos pasos para empezar.',
  upload: 'Subir',
  indexed: 'Indexados',
  indexing: 'Indexando',
  parsing: 'Analizando',
  failed: 'Con error',
  documentsByStatus: 'Documentos por estado',
  documents: 'Documentos',
  indexedText: 'Texto indexado',
  inProgress: 'En curso',
  indexedInTheLastHour: 'Indexados en la última hora',
  documents2: { one: 'documento', other: 'documentos' },
  documentsIndexed: 'Documentos indexados',
  minute: 'Minuto',
  queriesInTheLast24: 'Consultas de las últimas 24 horas',
  queries: { one: 'consulta,', other: 'consultas,' },
  queries2: 'Consultas',
  hour: 'Hora',
  average: 'media',
  storageAndLimits: 'Almacenamiento y límites',
  storage: 'Almacenamiento',
  waitingToBeIndexed: 'A la espera de indexación',
  queriesPerMinuteQueriesPerMinute: '{queriesPerMinute} consultas por minuto.',
  planSubscriptionTier: ' Plan: {subscriptionTier}.',
  noLimitsApplyToThis: 'Esta organización no tiene límites.',
  allDocumentsCanBeFound: 'Se pueden encontrar todos los documentos.',
  countDocumentsCouldNotBe: {
    one: 'No se pudo indexar {count} documento',
    other: 'No se pudieron indexar {count} documentos',
  },
  viewFailed: 'Ver',
  recentDocuments: 'Documentos recientes',
};
