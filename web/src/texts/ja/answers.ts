import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/answers.ts';

export const texts: Translation<typeof english> = {
  answer: '回答',
  answerEachSearch: '検索のたびに回答',
  answerThisQuestion: 'この質問に回答',
  stop: '停止',
  tryAgain: '再試行',
  answerAgain: 'もう一度回答',
  theModelIsReadingThe: 'モデルがドキュメントを読んでいます',
  sourceNumberCitation: '出典 {number}: {citation}',
  noTextOfTheCollection: '質問に一致するテキストはコレクションにありません。',
  theModelFoundNoneIn: '質問に最もよく一致するテキストに、モデルは回答を見つけられませんでした。',
  theModelWroteTextBut: 'モデルは文章を生成しましたが、出典を示しませんでした。',
  stoppedBeforeTheAnswerWas: '回答が完了する前に停止しました。',
  noAnswerIsSupportedBy: 'ドキュメントにこの質問への回答はありません。',
  theAnswerHasReachedIts: '回答が最大の長さに達しました。',
  countSentencesWithoutASource: { other: '出典のない {count} 文を省きました。' },
  sources: '出典',
  pagesFirstEnd: '{first}～{end} ページ',
  pageFirst: '{first} ページ',
  modelModel: 'モデル: {model}',
};
