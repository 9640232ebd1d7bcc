import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/server.ts';

export const texts: Translation<typeof english> = {
  thisDeviceAlreadyHasA: 'Dieses Gerät hat bereits einen Passkey Ihres Kontos.',
  invalidJsonError: 'Ungültiges JSON: {error}',
  theConnectionEndedBeforeThe:
    'Die Verbindung wurde beendet, bevor die Antwort vollständig war. Versuchen Sie es erneut.',
  theServerIsNotResponding:
    'Der Server antwortet nicht. Ihre Eingaben bleiben erhalten. Versuchen Sie es in Kürze erneut.',
  theReplyDidNotCome:
    'Die Antwort kam nicht vom Quarry-Server. Möglicherweise verlangt ein Proxy eine Anmeldung.',
  signInToContinue: 'Melden Sie sich an, um fortzufahren.',
  theServerReturnedStatusStatus: 'Der Server hat den Status {status} zurückgegeben.',
};
