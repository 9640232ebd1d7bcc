import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/console.ts';

export const texts: Translation<typeof english> = {
  apiConsole: 'Consola de API',
  requestsRunWithYourSession:
    'Las solicitudes se ejecutan con su sesión en {name} y pueden cambiar sus datos.',
  operation: 'Operación',
  documentation: 'Documentación',
  nameInThePath: '{name} (en la ruta)',
  sendRequest: 'Enviar solicitud',
  restoreExample: 'Restaurar ejemplo',
  requestBody: 'Cuerpo de la solicitud',
  reply: 'Respuesta',
  statusStatus: 'Estado {status}',
  requestIdRequestId: 'ID de la solicitud: {requestId}',
  theFirstShownUnitsMaxCharactersAre: 'Se muestran los primeros {shownUnitsMax} caracteres.',
  copyReply: 'Copiar la respuesta',
};
