import { localize } from '../localize.ts';

export const texts = localize('console', {
  apiConsole: 'API console',
  requestsRunWithYourSession: 'Requests run with your session in {name}, and may change its data.',
  operation: 'Operation',
  documentation: 'Documentation',
  nameInThePath: '{name} (in the path)',
  sendRequest: 'Send request',
  restoreExample: 'Restore example',
  requestBody: 'Request body',
  reply: 'Reply',
  statusStatus: 'Status {status}',
  requestIdRequestId: 'Request ID: {requestId}',
  theFirstShownUnitsMaxCharactersAre: 'The first {shownUnitsMax} characters are shown.',
  copyReply: 'Copy reply',
});
