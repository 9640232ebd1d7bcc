import { localize } from '../localize.ts';

export const texts = localize('answers', {
  answer: 'Answer',
  answerEachSearch: 'Answer each search',
  answerThisQuestion: 'Answer this question',
  stop: 'Stop',
  tryAgain: 'Try again',
  answerAgain: 'Answer again',
  theModelIsReadingThe: 'The model is reading the documents',
  sourceNumberCitation: 'Source {number}: {citation}',
  noTextOfTheCollection: 'No text of the collection matches the question.',
  theModelFoundNoneIn: 'The model found no answer in the texts that match the question best.',
  theModelWroteTextBut: 'The model wrote text, but named no source for it.',
  stoppedBeforeTheAnswerWas: 'Stopped before the answer was complete.',
  noAnswerIsSupportedBy: 'The documents do not answer this question.',
  theAnswerHasReachedIts: 'The answer has reached its maximum length.',
  countSentencesWithoutASource: {
    one: '{count} sentence without a source left out.',
    other: '{count} sentences without a source left out.',
  },
  sources: 'Sources',
  pagesFirstEnd: 'pages {first}–{end}',
  pageFirst: 'page {first}',
  modelModel: 'Model: {model}',
});
