import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/overview.ts';

export const texts: Translation<typeof english> = {
  uploadDocuments: 'Dokumente hochladen',
  uploadFilesOrFoldersPdf:
    'Laden Sie Dateien oder Ordner hoch: PDF, Office, HTML, E-Mail, E-Books, Scans und Text. Alle Daten bleiben auf diesem Server.',
  runAQuery: 'Suchanfrage ausführen',
  enterAQuestionMatchingText:
    'Geben Sie eine Frage ein. Passender Text wird hervorgehoben und mit seiner Seite angezeigt.',
  search: 'Suchen',
  useTheApi: 'API verwenden',
  createAnApiKeyAnd:
    'Erstellen Sie einen API-Schlüssel und kopieren Sie die Anfrage von der Suchseite als curl, Node.js oder Python.',
  getAnApiKeyFrom:
    'Lassen Sie sich von einem Inhaber oder Admin einen API-Schlüssel geben und kopieren Sie die Anfrage von der Suchseite als curl, Node.js oder Python.',
  createKey: 'Schlüssel erstellen',
  viewKeys: 'Schlüssel ansehen',
  firstSteps: 'Erste Schritte',
  countDocumentsAreBeingIndexed: {
    one: '{count} Dokument wird indexiert und kann noch nicht gefunden werden.',
    other: '{count} Dokumente werden indexiert und können noch nicht gefunden werden.',
  },
  overview: 'Übersicht',
  followTheseStepsToGet: 'Folgen Sie diesen Schritten, um zu beginnen.',
  upload: 'Hochladen',
  indexed: 'Indexiert',
  indexing: 'Wird indexiert',
  parsing: 'Wird eingelesen',
  failed: 'Fehlgeschlagen',
  documentsByStatus: 'Dokumente nach Status',
  documents: 'Dokumente',
  indexedText: 'Indexierter Text',
  inProgress: 'In Bearbeitung',
  indexedInTheLastHour: 'Indexiert in der letzten Stunde',
  documents2: { one: 'Dokument', other: 'Dokumente' },
  documentsIndexed: 'Indexierte Dokumente',
  minute: 'Minute',
  queriesInTheLast24: 'Suchanfragen der letzten 24 Stunden',
  queries: { one: 'Suchanfrage,', other: 'Suchanfragen,' },
  queries2: 'Suchanfragen',
  hour: 'Stunde',
  average: 'Durchschnitt',
  storageAndLimits: 'Speicher und Grenzwerte',
  storage: 'Speicher',
  waitingToBeIndexed: 'Warten auf Indexierung',
  queriesPerMinuteQueriesPerMinute: '{queriesPerMinute} Suchanfragen pro Minute.',
  planSubscriptionTier: ' Tarif: {subscriptionTier}.',
  noLimitsApplyToThis: 'Für diese Organisation gelten keine Grenzwerte.',
  allDocumentsCanBeFound: 'Alle Dokumente können gefunden werden.',
  countDocumentsCouldNotBe: {
    one: '{count} Dokument konnte nicht indexiert werden',
    other: '{count} Dokumente konnten nicht indexiert werden',
  },
  viewFailed: 'Ansehen',
  recentDocuments: 'Neueste Dokumente',
};
