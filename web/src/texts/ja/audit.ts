import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/audit.ts';

export const texts: Translation<typeof english> = {
  tooManyEntriesToExport:
    '項目が多すぎるため、ブラウザーではエクスポートできません。期間を短くするか、「quarry audit export」を使ってください。',
  auditLog: '監査ログ',
  ownersOnly: 'オーナー専用',
  onlyOwnersOfThisOrganization: '監査ログを閲覧できるのは、この組織のオーナーだけです。',
  signInsChangesToMembers: 'ログイン、メンバー・API キー・組織の変更、拒否された試行',
  from: '開始日',
  to: '終了日',
  noEntriesInThisPeriod: 'この期間の項目はありません。',
  showOlderEntries: '以前の項目を表示',
  unknown: '不明',
  server: 'サーバー',
  administrator: '管理者',
  keyKey: 'キー {key}',
  time: '日時',
  actor: '実行者',
  action: '操作',
  target: '対象',
  address: 'アドレス',
  countEntriesExported: { other: '{count} 件の項目をエクスポートしました。' },
  exportingCountEntries: { other: 'エクスポート中: {count} 件' },
  export: 'エクスポート',
  csvForSpreadsheets: 'CSV (表計算用)',
  jsonLinesForPrograms: 'JSON Lines (プログラム用)',
};
