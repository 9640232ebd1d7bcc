import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/console.ts';

export const texts: Translation<typeof english> = {
  apiConsole: 'API コンソール',
  requestsRunWithYourSession:
    'リクエストは {name} でのあなたのセッションで実行され、データを変更することがあります。',
  operation: '操作',
  documentation: 'ドキュメント',
  nameInThePath: '{name} (パス内)',
  sendRequest: 'リクエストを送信',
  restoreExample: '例に戻す',
  requestBody: 'リクエスト本文',
  reply: '応答',
  statusStatus: 'ステータス {status}',
  requestIdRequestId: 'リクエスト ID: {requestId}',
  theFirstShownUnitsMaxCharactersAre: '最初の {shownUnitsMax} 文字を表示しています。',
  copyReply: '応答をコピー',
};
