import { localize } from '../localize.ts';

export const texts = localize('search', {
  apiRequest: 'API request',
  language: 'Language',
  setTheApiKeyBefore:
    'Set the API key before you run the code: {exportQuarryApiKey} <link>Create API key</link>',
  copyCode: 'Copy code',
  history: 'History',
  queriesThatYouRunAppear: 'Queries that you run appear here. They stay in this browser.',
  clearHistory: 'Clear history',
  similarToPath: 'Similar to {path}',
  search: 'Search',
  runQueriesAndSeeHow: 'Run queries and see how each result was found.',
  results: 'Results',
  searchYourDocuments: 'Search your documents',
  enterAQuestionOrKeywords:
    'Enter a question or keywords. Each result opens at its best sentence, with page and score.',
  copyAsCode: 'Copy as code',
  noDocumentsToSearch: 'No documents to search',
  uploadDocuments: 'Upload documents',
  uploadDocumentsFirstTheyBecome: 'Upload documents first. They become searchable within seconds.',
  query: 'Query',
  howLongDoRefundsTake: 'How long do refunds take?',
  optionalWordsToSearchFor: 'Optional: words to search for as well',
  resultType: 'Result type',
  snippets: 'Snippets',
  pages: 'Pages',
  documents: 'Documents',
  similarToAPartOf: 'Similar to a part of {path}',
  searchByQueryInstead: 'Search by query instead',
  searching: 'Searching',
});
