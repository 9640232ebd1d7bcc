import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/search.ts';

export const texts: Translation<typeof english> = {
  apiRequest: 'API リクエスト',
  language: '言語',
  setTheApiKeyBefore:
    'コードを実行する前に API キーを設定してください: {exportQuarryApiKey} <link>API キーを作成</link>',
  copyCode: 'コードをコピー',
  history: '履歴',
  queriesThatYouRunAppear: '実行した検索がここに表示されます。履歴はこのブラウザーにだけ残ります。',
  clearHistory: '履歴を消去',
  similarToPath: '{path} に類似',
  search: '検索',
  runQueriesAndSeeHow: '検索を実行し、各結果がどのように見つかったかを確認できます。',
  results: '結果',
  searchYourDocuments: 'ドキュメントを検索',
  enterAQuestionOrKeywords:
    '質問またはキーワードを入力してください。各結果は最も適した文の位置で開き、ページとスコアが表示されます。',
  copyAsCode: 'コードとしてコピー',
  noDocumentsToSearch: '検索するドキュメントがありません',
  uploadDocuments: 'ドキュメントをアップロード',
  uploadDocumentsFirstTheyBecome:
    '先にドキュメントをアップロードしてください。数秒で検索できるようになります。',
  query: '検索語句',
  howLongDoRefundsTake: '返金にはどのくらいかかりますか？',
  optionalWordsToSearchFor: '任意: 併せて検索する語',
  resultType: '結果の種類',
  snippets: 'スニペット',
  pages: 'ページ',
  documents: 'ドキュメント',
  similarToAPartOf: '{path} の一部に類似',
  searchByQueryInstead: '検索語句での検索に戻す',
  searching: '検索しています',
};
