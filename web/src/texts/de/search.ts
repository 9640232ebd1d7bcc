import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/search.ts';

export const texts: Translation<typeof english> = {
  apiRequest: 'API-Anfrage',
  language: 'Sprache',
  setTheApiKeyBefore:
    'Setzen Sie den API-Schlüssel, bevor Sie den Code ausführen: {exportQuarryApiKey} <link>API-Schlüssel erstellen</link>',
  copyCode: 'Code kopieren',
  history: 'Verlauf',
  queriesThatYouRunAppear: 'Hier erscheinen Suchanfragen, die Sie ausführen. Sie bleiben in diesem Browser.',
  clearHistory: 'Verlauf löschen',
  similarToPath: 'Ähnlich wie {path}',
  search: 'Suchen',
  runQueriesAndSeeHow: 'Führen Sie Suchanfragen aus und sehen Sie, wie jedes Ergebnis gefunden wurde.',
  results: 'Ergebnisse',
  searchYourDocuments: 'Durchsuchen Sie Ihre Dokumente',
  enterAQuestionOrKeywords:
    'Geben Sie eine Frage oder Stichwörter ein. Jedes Ergebnis öffnet sich an seinem besten Satz, mit Seite und Score.',
  copyAsCode: 'Als Code kopieren',
  noDocumentsToSearch: 'Keine Dokumente zum Durchsuchen',
  uploadDocuments: 'Dokumente hochladen',
  uploadDocumentsFirstTheyBecome:
    'Laden Sie zuerst Dokumente hoch. Sie sind innerhalb von Sekunden durchsuchbar.',
  query: 'Suchanfrage',
  howLongDoRefundsTake: 'Wie lange dauern Rückerstattungen?',
  optionalWordsToSearchFor: 'Optional: Wörter, nach denen zusätzlich gesucht wird',
  resultType: 'Art der Ergebnisse',
  snippets: 'Ausschnitte',
  pages: 'Seiten',
  documents: 'Dokumente',
  similarToAPartOf: 'Ähnlich wie ein Teil von {path}',
  searchByQueryInstead: 'Stattdessen nach einer Suchanfrage suchen',
  searching: 'Suche läuft',
};
