import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/console.ts';

export const texts: Translation<typeof english> = {
  apiConsole: 'API-Konsole',
  requestsRunWithYourSession: 'Anfragen laufen mit Ihrer Sitzung in {name} und können deren Daten ändern.',
  operation: 'Operation',
  documentation: 'Dokumentation',
  nameInThePath: '{name} (im Pfad)',
  sendRequest: 'Anfrage senden',
  restoreExample: 'Beispiel wiederherstellen',
  requestBody: 'Inhalt der Anfrage',
  reply: 'Antwort',
  statusStatus: 'Status {status}',
  requestIdRequestId: 'Anfrage-ID: {requestId}',
  theFirstShownUnitsMaxCharactersAre: 'Die ersten {shownUnitsMax} Zeichen werden angezeigt.',
  copyReply: 'Antwort kopieren',
};
