import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/server.ts';

export const texts: Translation<typeof english> = {
  thisDeviceAlreadyHasA: 'このデバイスには、すでにこのアカウントのパスキーがあります。',
  invalidJsonError: 'JSON が正しくありません: {error}',
  theConnectionEndedBeforeThe: '回答が完了する前に接続が終了しました。もう一度お試しください。',
  theServerIsNotResponding:
    'サーバーが応答していません。入力内容は保持されます。しばらくしてからもう一度お試しください。',
  theReplyDidNotCome:
    '応答は Quarry サーバーからのものではありません。プロキシがログインを求めている可能性があります。',
  signInToContinue: '続行するにはログインしてください。',
  theServerReturnedStatusStatus: 'サーバーがステータス {status} を返しました。',
};
