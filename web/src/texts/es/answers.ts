import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/answers.ts';

export const texts: Translation<typeof english> = {
  answer: 'Respuesta',
  answerEachSearch: 'Responder a cada búsqueda',
  answerThisQuestion: 'Responder a esta pregunta',
  stop: 'Detener',
  tryAgain: 'Reintentar',
  answerAgain: 'Responder de nuevo',
  theModelIsReadingThe: 'El modelo está leyendo los documentos',
  sourceNumberCitation: 'Fuente {number}: {citation}',
  noTextOfTheCollection: 'Ningún texto de la colección coincide con la pregunta.',
  theModelFoundNoneIn:
    'El modelo no encontró ninguna respuesta en los textos que mejor coinciden con la pregunta.',
  theModelWroteTextBut: 'El modelo escribió texto, pero no indicó ninguna fuente.',
  stoppedBeforeTheAnswerWas: 'Detenida antes de completar la respuesta.',
  noAnswerIsSupportedBy: 'Los documentos no responden a esta pregunta.',
  theAnswerHasReachedIts: 'La respuesta alcanzó su longitud máxima.',
  countSentencesWithoutASource: {
    one: 'Se omitió {count} frase sin fuente.',
    other: 'Se omitieron {count} frases sin fuente.',
  },
  sources: 'Fuentes',
  pagesFirstEnd: 'páginas {first}–{end}',
  pageFirst: 'página {first}',
  modelModel: 'Modelo: {model}',
};
