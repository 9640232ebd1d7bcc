import { Button, LinkButton } from '../../components/button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { planTopic, showToast } from '../../components/toasts.tsx';
import { formatBillingDate, formatDateTime } from '../../format/times.ts';
import { type BillingStatus, cancelDowngrade, cancelUpgrade } from '../../server/billing.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/billing.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import { hasRole } from './roles.tsx';
import { tierName } from './tiers.ts';

/** Element that says why changes are impossible while the payment provider does not respond. */
export const staleNoticeId = 'billing-stale';

interface NoticeProps {
  readonly status: BillingStatus;
  readonly onChanged: () => void;
}

interface PlanNoticesProps extends NoticeProps {
  /** Null if the user may not change the plan. */
  readonly onResume: (() => void) | null;
}

/** Notices above the plans: pending changes and unpaid or paused plans. */
export function PlanNotices({ status, onChanged, onResume }: PlanNoticesProps) {
  const { pending_downgrade: pendingDowngrade } = status;
  return (
    <>
      <UnpaidNotice status={status} onChanged={onChanged} />
      {pendingDowngrade !== null && (
        <DowngradeNotice pendingDowngrade={pendingDowngrade} status={status} onChanged={onChanged} />
      )}
      <PausedNotice status={status} onResume={onResume} />
    </>
  );
}

/** The paused plan, what applies until then, and the way back, in one place. */
function PausedNotice({ status, onResume }: Pick<PlanNoticesProps, 'status' | 'onResume'>) {
  const { paused_at: pausedAt, paused_tier: tier, stale } = status;
  if (pausedAt === null || tier === null) return null;
  return (
    <div class="note row between">
      <div>
        {rich(texts.tierPausedSincePausedAtNothing, {
          strong: (children) => <strong>{children}</strong>,
          tier: tierName(tier),
          pausedAt: formatBillingDate(pausedAt),
        })}
      </div>
      {onResume !== null && (
        <Button
          tone="primary"
          disabled={stale}
          aria-describedby={stale ? staleNoticeId : undefined}
          onClick={onResume}
        >
          {texts.resume}
        </Button>
      )}
    </div>
  );
}

function UnpaidNotice({ status, onChanged }: NoticeProps) {
  const { pending_upgrade: pendingUpgrade, status: state, invoices } = status;
  const mayHaveOpenInvoice = state === 'past_due' || state === 'paused';
  const openInvoice = mayHaveOpenInvoice ? invoices.find((invoice) => invoice.status === 'open') : undefined;
  const address = pendingUpgrade?.hosted_invoice_url ?? openInvoice?.hosted_invoice_url ?? null;
  if (pendingUpgrade === null && openInvoice === undefined) return null;
  return (
    <div class="note warning row between" role="status">
      <div>
        {pendingUpgrade !== null ? (
          <>
            {rich(texts.tierStartsWhenTheInvoice, {
              strong: (children) => <strong>{children}</strong>,
              tier: tierName(pendingUpgrade.tier),
              expiresAt:
                pendingUpgrade.expires_at !== null &&
                fill(texts.theUpgradeExpiresOnExpiresAt, {
                  expiresAt: formatDateTime(pendingUpgrade.expires_at),
                }),
            })}
          </>
        ) : (
          <>
            <strong>{texts.anInvoiceIsUnpaid}</strong>{' '}
            {state === 'paused' ? texts.thePlanResumesAfterPayment : texts.payItToKeepThe}
          </>
        )}
        {texts.thisPageUpdatesAutomaticallyAfter}
      </div>
      <div class="row">
        {pendingUpgrade !== null && hasRole('OWNER') && (
          <CancelUpgradeButton status={status} onChanged={onChanged} />
        )}
        {address !== null && (
          <LinkButton href={address} tone="primary" isExternal>
            {pendingUpgrade === null ? texts.payInvoice : texts.completePayment}
          </LinkButton>
        )}
      </div>
    </div>
  );
}

function CancelUpgradeButton({ status, onChanged }: NoticeProps) {
  const cancel = useAsyncAction(async () => {
    await cancelUpgrade();
    showToast(texts.upgradeCanceledNothingWasCharged, 'good', planTopic);
    onChanged();
  });
  return (
    <div>
      <Button busy={cancel.isBusy} disabled={status.stale} onClick={cancel.start}>
        {texts.cancelUpgrade}
      </Button>
      <ErrorMessage error={cancel.error} />
    </div>
  );
}

interface DowngradeNoticeProps extends NoticeProps {
  readonly pendingDowngrade: NonNullable<BillingStatus['pending_downgrade']>;
}

function DowngradeNotice({ pendingDowngrade, status, onChanged }: DowngradeNoticeProps) {
  const cancelDowngradeAction = useAsyncAction(async () => {
    await cancelDowngrade();
    showToast(
      fill(texts.yourPlanRemainsSubscriptionTier, { subscriptionTier: tierName(status.subscription_tier) }),
      'good',
      planTopic,
    );
    onChanged();
  });
  return (
    <>
      <div class="note row between">
        <div>
          <strong>
            {fill(texts.yourPlanChangesToTier, {
              tier: tierName(pendingDowngrade.tier),
              effectiveAt: formatBillingDate(pendingDowngrade.effective_at),
            })}
          </strong>{' '}
          {fill(texts.untilThenSubscriptionTierApplies, {
            subscriptionTier: tierName(status.subscription_tier),
          })}
        </div>
        {hasRole('OWNER') && (
          <Button
            busy={cancelDowngradeAction.isBusy}
            disabled={status.stale}
            onClick={cancelDowngradeAction.start}
          >
            {fill(texts.keepSubscriptionTier, { subscriptionTier: tierName(status.subscription_tier) })}
          </Button>
        )}
      </div>
      <ErrorMessage error={cancelDowngradeAction.error} />
    </>
  );
}
