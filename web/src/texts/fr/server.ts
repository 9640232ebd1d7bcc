import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/server.ts';

export const texts: Translation<typeof english> = {
  thisDeviceAlreadyHasA: 'Cet appareil possède déjà une clé d’accès de votre compte.',
  invalidJsonError: 'JSON non valide : {error}',
  theConnectionEndedBeforeThe: 'La connexion a pris fin avant que la réponse soit complète. Réessayez.',
  theServerIsNotResponding:
    'Le serveur ne répond pas. Votre saisie est conservée. Réessayez dans un instant.',
  theReplyDidNotCome:
    'La réponse ne vient pas du serveur Quarry. Un proxy vous demande peut-être de vous connecter.',
  signInToContinue: 'Connectez-vous pour continuer.',
  theServerReturnedStatusStatus: 'Le serveur a renvoyé le statut {status}.',
};
