import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/server.ts';

export const texts: Translation<typeof english> = {
  thisDeviceAlreadyHasA: 'Este dispositivo ya tiene una llave de acceso de su cuenta.',
  invalidJsonError: 'JSON no válido: {error}',
  theConnectionEndedBeforeThe: 'La conexión terminó antes de completar la respuesta. Inténtelo de nuevo.',
  theServerIsNotResponding:
    'El servidor no responde. Lo que escribió se conserva. Inténtelo de nuevo en breve.',
  theReplyDidNotCome:
    'La respuesta no procede del servidor Quarry. Puede que un proxy le pida iniciar sesión.',
  signInToContinue: 'Inicie sesión para continuar.',
  theServerReturnedStatusStatus: 'El servidor devolvió el estado {status}.',
};
