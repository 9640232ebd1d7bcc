import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/answers.ts';

export const texts: Translation<typeof english> = {
  answer: 'Antwort',
  answerEachSearch: 'Jede Suche beantworten',
  answerThisQuestion: 'Diese Frage beantworten',
  stop: 'Stoppen',
  tryAgain: 'Erneut versuchen',
  answerAgain: 'Erneut beantworten',
  theModelIsReadingThe: 'Das Modell liest die Dokumente',
  sourceNumberCitation: 'Quelle {number}: {citation}',
  noTextOfTheCollection: 'Kein Text der Sammlung passt zur Frage.',
  theModelFoundNoneIn: 'Das Modell hat in den am besten passenden Texten keine Antwort gefunden.',
  theModelWroteTextBut: 'Das Modell hat Text geschrieben, aber keine Quelle dafür genannt.',
  stoppedBeforeTheAnswerWas: 'Gestoppt, bevor die Antwort vollständig war.',
  noAnswerIsSupportedBy: 'Die Dokumente beantworten diese Frage nicht.',
  theAnswerHasReachedIts: 'Die Antwort hat ihre maximale Länge erreicht.',
  countSentencesWithoutASource: {
    one: '{count} Satz ohne Quelle wurde weggelassen.',
    other: '{count} Sätze ohne Quelle wurden weggelassen.',
  },
  sources: 'Quellen',
  pagesFirstEnd: 'Seiten {first}–{end}',
  pageFirst: 'Seite {first}',
  modelModel: 'Modell: {model}',
};
