import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/search.ts';

export const texts: Translation<typeof english> = {
  apiRequest: 'Solicitud de API',
  language: 'Lenguaje',
  setTheApiKeyBefore:
    'Defina la clave de API antes de ejecutar el código: {exportQuarryApiKey} <link>Crear clave de API</link>',
  copyCode: 'Copiar código',
  history: 'Historial',
  queriesThatYouRunAppear: 'Las consultas que ejecuta aparecen aquí. Permanecen en este navegador.',
  clearHistory: 'Borrar historial',
  similarToPath: 'Similar a {path}',
  search: 'Buscar',
  runQueriesAndSeeHow: 'Ejecute consultas y vea cómo se encontró cada resultado.',
  results: 'Resultados',
  searchYourDocuments: 'Busque en sus documentos',
  enterAQuestionOrKeywords:
    'Escriba una pregunta o palabras clave. Cada resultado se abre en su mejor frase, con página y puntuación.',
  copyAsCode: 'Copiar como código',
  noDocumentsToSearch: 'No hay documentos en los que buscar',
  uploadDocuments: 'Subir documentos',
  uploadDocumentsFirstTheyBecome: 'Suba primero documentos. Se pueden buscar en segundos.',
  query: 'Consulta',
  howLongDoRefundsTake: '¿Cuánto tardan los reembolsos?',
  optionalWordsToSearchFor: 'Opcional: palabras que buscar además',
  resultType: 'Tipo de resultados',
  snippets: 'Fragmentos',
  pages: 'Páginas',
  documents: 'Documentos',
  similarToAPartOf: 'Similar a una parte de {path}',
  searchByQueryInstead: 'Buscar por consulta en su lugar',
  searching: 'Buscando',
};
