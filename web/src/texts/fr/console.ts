import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/console.ts';

export const texts: Translation<typeof english> = {
  apiConsole: 'Console API',
  requestsRunWithYourSession:
    'Les requêtes s’exécutent avec votre session dans {name} et peuvent en modifier les données.',
  operation: 'Opération',
  documentation: 'Documentation',
  nameInThePath: '{name} (dans le chemin)',
  sendRequest: 'Envoyer la requête',
  restoreExample: 'Rétablir l’exemple',
  requestBody: 'Corps de la requête',
  reply: 'Réponse',
  statusStatus: 'Statut {status}',
  requestIdRequestId: 'ID de requête : {requestId}',
  theFirstShownUnitsMaxCharactersAre: 'Les {shownUnitsMax} premiers caractères sont affichés.',
  copyReply: 'Copier la réponse',
};
