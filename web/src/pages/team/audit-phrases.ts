import type { AuditLogEntry } from '../../../../src/schemas/audit.ts';
import { texts } from '../../texts/en/audit.ts';
import { fill } from '../../texts/format-text.ts';
import { roleName } from './roles.tsx';

/** What was done, by the action of an entry. */
const phrases: Readonly<Record<string, string>> = {
  'access.denied': texts.attemptRejected,
  'api_key.created': texts.apiKeyCreated,
  'api_key.updated': texts.apiKeyChanged,
  'api_key.deleted': texts.apiKeyRevoked,
  'billing.code_redeemed': texts.promoCodeRedeemed,
  'billing.code_refused': texts.promoCodeRejected,
  'billing.customer_deleted': texts.billingAccountDeleted,
  'billing.customer_left': texts.billingAccountKept,
  'billing.downgrade_cancelled': texts.planChangeCanceled,
  'billing.downgrade_scheduled': texts.planChangeScheduled,
  'billing.paused': texts.subscriptionPaused,
  'billing.payment_method_added': texts.paymentMethodAdded,
  'billing.payment_method_removed': texts.paymentMethodRemoved,
  'billing.portal_opened': texts.billingDetailsOpened,
  'billing.reconciled': texts.planUpdatedByTheProvider,
  'billing.subscribed': texts.planSubscribed,
  'billing.upgrade_cancelled': texts.upgradeCanceled,
  'collection.created': texts.collectionCreated,
  'collection.deleted': texts.collectionDeleted,
  'collection.renamed': texts.collectionRenamed,
  'document.deleted': texts.documentsDeletedIn,
  'invitation.deleted': texts.invitationDeleted,
  'marketplace.bound': texts.marketplaceLinked,
  'marketplace.ended': texts.marketplaceAgreementEnded,
  'member.invited': texts.memberInvited,
  'member.joined': texts.memberJoined,
  'member.left': texts.memberLeft,
  'member.permission_changed': texts.roleChanged,
  'member.removed': texts.memberRemoved,
  'organization.created': texts.organizationCreated,
  'organization.deleted': texts.organizationDeleted,
  'organization.updated': texts.organizationChanged,
  'source.added': texts.sourceAdded,
  'source.deleted': texts.sourceDeleted,
  'source.paused': texts.sourcePaused,
  'source.resumed': texts.sourceResumed,
  'source.updated': texts.sourceChanged,
  'webhook.added': texts.webhookCreated,
  'webhook.deleted': texts.webhookDeleted,
  'webhook.replayed': texts.webhookReplayed,
  'webhook.secret_rotated': texts.webhookSecretReplaced,
  'webhook.test': texts.webhookTested,
  'webhook.updated': texts.webhookChanged,
};

/** Groups of actions to choose from, by the start of the action. */
export const actionGroups = [
  ['members', texts.membersAndInvitations, ['member.', 'invitation.']],
  ['keys', texts.apiKeys, ['api_key.']],
  ['content', texts.collectionsAndDocuments, ['collection.', 'document.']],
  ['sources', texts.sources, ['source.']],
  ['webhooks', texts.webhooks, ['webhook.']],
  ['organization', texts.organization, ['organization.']],
  ['billing', texts.billing, ['billing.', 'marketplace.']],
  ['rejected', texts.rejectedAttempts, ['access.']],
] as const;

export type ActionGroup = (typeof actionGroups)[number][0];

export function isInGroup({ action }: AuditLogEntry, group: ActionGroup): boolean {
  const starts: readonly string[] = actionGroups.find(([id]) => id === group)?.[2] ?? [];
  return starts.some((start) => action.startsWith(start));
}

/** Names of actors by the ID that entries have for them. */
export type KnownNames = ReadonlyMap<string, string>;

export function actorName(actor: string | null, names: KnownNames): string {
  if (actor === null) return texts.unknown;
  if (actor === 'system') return texts.server;
  if (actor === 'administrator') return texts.administrator;
  const name = names.get(actor);
  if (name !== undefined) return name;
  // A key that was deleted, or that the server has from its settings.
  return actor.startsWith('key:') ? fill(texts.keyKey, { key: `${actor.slice(4, 12)}…` }) : actor;
}

/** "API key created: Contractor (read only)". The code of an action without a phrase stays as it is. */
export function phraseOf({ action, target, details }: AuditLogEntry, names: KnownNames): string {
  const phrase = phrases[action] ?? action;
  // The URL of a webhook is not in the log, and the ID of a deleted key has no name.
  const subject = details.host ?? details.name ?? (target === null ? null : (names.get(target) ?? target));
  const permission = permissionOf(details);
  const named = subject === null ? phrase : fill(texts.phraseSubject, { phrase, subject: String(subject) });
  return permission === null ? named : `${named} (${permission})`;
}

function permissionOf({ permission, from, to }: AuditLogEntry['details']): string | null {
  if (typeof from === 'string' && typeof to === 'string')
    return `${permissionName(from)} → ${permissionName(to)}`;
  return typeof permission === 'string' ? permissionName(permission) : null;
}

function permissionName(permission: string): string {
  switch (permission) {
    case 'OWNER':
    case 'ADMIN':
    case 'MEMBER':
      return roleName(permission);
    case 'read_only':
      return texts.readOnly;
    case 'all':
      return texts.readAndWrite;
    default:
      return permission;
  }
}
