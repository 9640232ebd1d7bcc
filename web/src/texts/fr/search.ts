import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/search.ts';

export const texts: Translation<typeof english> = {
  apiRequest: 'Requête API',
  language: 'Langage',
  setTheApiKeyBefore:
    'Définissez la clé API avant d’exécuter le code : {exportQuarryApiKey} <link>Créer une clé API</link>',
  copyCode: 'Copier le code',
  history: 'Historique',
  queriesThatYouRunAppear:
    'Les requêtes que vous exécutez apparaissent ici. Elles restent dans ce navigateur.',
  clearHistory: 'Effacer l’historique',
  similarToPath: 'Similaire à {path}',
  search: 'Rechercher',
  runQueriesAndSeeHow: 'Exécutez des requêtes et voyez comment chaque résultat a été trouvé.',
  results: 'Résultats',
  searchYourDocuments: 'Recherchez dans vos documents',
  enterAQuestionOrKeywords:
    'Saisissez une question ou des mots-clés. Chaque résultat s’ouvre à sa meilleure phrase, avec page et score.',
  copyAsCode: 'Copier en code',
  noDocumentsToSearch: 'Aucun document où rechercher',
  uploadDocuments: 'Importer des documents',
  uploadDocumentsFirstTheyBecome:
    'Importez d’abord des documents. La recherche les trouve en quelques secondes.',
  query: 'Requête',
  howLongDoRefundsTake: 'Combien de temps prennent les remboursements ?',
  optionalWordsToSearchFor: 'Facultatif : mots à rechercher également',
  resultType: 'Type de résultats',
  snippets: 'Extraits',
  pages: 'Pages',
  documents: 'Documents',
  similarToAPartOf: 'Similaire à une partie de {path}',
  searchByQueryInstead: 'Rechercher plutôt par requête',
  searching: 'Recherche en cours',
};
