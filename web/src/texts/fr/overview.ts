import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/overview.ts';

export const texts: Translation<typeof english> = {
  uploadDocuments: 'Importer des documents',
  uploadFilesOrFoldersPdf:
    'Importez des fichiers ou des dossiers : PDF, Office, HTML, e-mails, livres numériques, numérisations et textes. Toutes les données restent sur ce serveur.',
  runAQuery: 'Exécuter une requête',
  enterAQuestionMatchingText:
    'Saisissez une question. Le texte correspondant est mis en évidence et affiché avec sa page.',
  search: 'Rechercher',
  useTheApi: 'Utiliser l’API',
  createAnApiKeyAnd:
    'Créez une clé API et copiez la requête depuis la page de recherche, en curl, Node.js ou Python.',
  getAnApiKeyFrom:
    'Demandez une clé API à un propriétaire ou un admin et copiez la requête depuis la page de recherche, en curl, Node.js ou Python.',
  createKey: 'Créer une clé',
  viewKeys: 'Voir les clés',
  firstSteps: 'Premiers pas',
  countDocumentsAreBeingIndexed: {
    one: '{count} document est en cours d’indexation et n’est pas encore trouvé.',
    other: '{count} documents sont en cours d’indexation et ne sont pas encore trouvés.',
  },
  overview: 'Aperçu',
  followTheseStepsToGet: 'Suivez ces étapes pour commencer.',
  upload: 'Importer',
  indexed: 'Indexés',
  indexing: 'En indexation',
  parsing: 'En analyse',
  failed: 'En échec',
  documentsByStatus: 'Documents par statut',
  documents: 'Documents',
  indexedText: 'Texte indexé',
  inProgress: 'En cours',
  indexedInTheLastHour: 'Indexés au cours de la dernière heure',
  documents2: { one: 'document', other: 'documents' },
  documentsIndexed: 'Documents indexés',
  minute: 'Minute',
  queriesInTheLast24: 'Recherches des dernières 24 heures',
  queries: { one: 'recherche,', other: 'recherches,' },
  queries2: 'Recherches',
  hour: 'Heure',
  average: 'moyenne',
  storageAndLimits: 'Stockage et limites',
  storage: 'Stockage',
  waitingToBeIndexed: 'En attente d’indexation',
  queriesPerMinuteQueriesPerMinute: '{queriesPerMinute} recherches par minute.',
  planSubscriptionTier: ' Forfait : {subscriptionTier}.',
  noLimitsApplyToThis: 'Aucune limite ne s’applique à cette organisation.',
  allDocumentsCanBeFound: 'Tous les documents peuvent être trouvés.',
  countDocumentsCouldNotBe: {
    one: '{count} document n’a pas pu être indexé',
    other: '{count} documents n’ont pas pu être indexés',
  },
  viewFailed: 'Voir',
  recentDocuments: 'Documents récents',
};
