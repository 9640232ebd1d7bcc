import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/overview.ts';

export const texts: Translation<typeof english> = {
  uploadDocuments: 'ドキュメントをアップロード',
  uploadFilesOrFoldersPdf:
    'ファイルまたはフォルダーをアップロードします: PDF、Office、HTML、メール、電子書籍、スキャン画像、テキスト。データはすべてこのサーバーに残ります。',
  runAQuery: '検索を実行',
  enterAQuestionMatchingText:
    '質問を入力してください。一致したテキストが強調され、ページとともに表示されます。',
  search: '検索',
  useTheApi: 'API を使う',
  createAnApiKeyAnd:
    'API キーを作成し、検索ページからリクエストを curl、Node.js、Python の形式でコピーします。',
  getAnApiKeyFrom:
    'オーナーまたは管理者から API キーを受け取り、検索ページからリクエストを curl、Node.js、Python の形式でコピーします。',
  createKey: 'キーを作成',
  viewKeys: 'キーを表示',
  firstSteps: 'はじめに',
  countDocumentsAreBeingIndexed: {
    other: '{count} 件のドキュメントをインデックスに登録中です。まだ検索できません。',
  },
  overview: '概要',
  followTheseStepsToGet: '次の手順で始めましょう。',
  upload: 'アップロード',
  indexed: 'インデックス済み',
  indexing: 'インデックス登録中',
  parsing: '解析中',
  failed: '失敗',
  documentsByStatus: '状態別のドキュメント',
  documents: 'ドキュメント',
  indexedText: 'インデックス済みのテキスト',
  inProgress: '処理中',
  indexedInTheLastHour: '過去 1 時間のインデックス登録',
  documents2: { other: '件のドキュメント' },
  documentsIndexed: 'インデックス済みドキュメント',
  minute: '分',
  queriesInTheLast24: '過去 24 時間の検索',
  queries: { other: '回の検索、' },
  queries2: '検索',
  hour: '時間',
  average: '平均',
  storageAndLimits: 'ストレージと上限',
  storage: 'ストレージ',
  waitingToBeIndexed: 'インデックス待ち',
  queriesPerMinuteQueriesPerMinute: '1 分あたり {queriesPerMinute} 回の検索。',
  planSubscriptionTier: ' プラン: {subscriptionTier}。',
  noLimitsApplyToThis: 'この組織に制限はありません。',
  allDocumentsCanBeFound: 'すべてのドキュメントを検索できます。',
  countDocumentsCouldNotBe: { other: '{count} 件のドキュメントをインデックスに登録できませんでした' },
  viewFailed: '表示',
  recentDocuments: '最近のドキュメント',
};
