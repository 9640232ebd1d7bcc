import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/answers.ts';

export const texts: Translation<typeof english> = {
  answer: 'Réponse',
  answerEachSearch: 'Répondre à chaque recherche',
  answerThisQuestion: 'Répondre à cette question',
  stop: 'Arrêter',
  tryAgain: 'Réessayer',
  answerAgain: 'Répondre à nouveau',
  theModelIsReadingThe: 'Le modèle lit les documents',
  sourceNumberCitation: 'Source {number} : {citation}',
  noTextOfTheCollection: 'Aucun texte de la collection ne correspond à la question.',
  theModelFoundNoneIn: 'Le modèle n’a trouvé aucune réponse dans les textes les plus proches de la question.',
  theModelWroteTextBut: 'Le modèle a rédigé un texte, mais n’a indiqué aucune source.',
  stoppedBeforeTheAnswerWas: 'Arrêté avant la fin de la réponse.',
  noAnswerIsSupportedBy: 'Les documents ne répondent pas à cette question.',
  theAnswerHasReachedIts: 'La réponse a atteint sa longueur maximale.',
  countSentencesWithoutASource: {
    one: '{count} phrase sans source omise.',
    other: '{count} phrases sans source omises.',
  },
  sources: 'Sources',
  pagesFirstEnd: 'pages {first}–{end}',
  pageFirst: 'page {first}',
  modelModel: 'Modèle : {model}',
};
