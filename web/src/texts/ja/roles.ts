import type { Translation } from '../catalogs.ts';
import type { texts as english } from '../en/roles.ts';

export const texts: Translation<typeof english> = {
  owner: 'オーナー',
  fullAccessIncludingMembersBilling: 'メンバー、請求、監査ログ、組織の削除を含むすべての権限',
  admin: '管理者',
  memberPermissionsPlusManagingApi: 'メンバーの権限に加えて API キーの管理',
  member: 'メンバー',
  managesCollectionsAndDocumentsAnd: 'コレクションとドキュメントを管理し、メンバーを招待できます',
};
