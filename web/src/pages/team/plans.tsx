import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip, Tag } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Card } from '../../components/page.tsx';
import { planTopic, showToast } from '../../components/toasts.tsx';
import { formatMoney } from '../../format/money.ts';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { formatBillingDate } from '../../format/times.ts';
import {
  type BillingStatus,
  downgrade,
  isPaidPlan,
  type PaidPlan,
  pauseSubscription,
} from '../../server/billing.ts';
import { texts } from '../../texts/en/billing.ts';
import { fill } from '../../texts/format-text.ts';
import { PlanNotices } from './plan-notices.tsx';
import { hasRole } from './roles.tsx';
import { tierName, tiers } from './tiers.ts';
import { UpgradeDialog } from './upgrade.tsx';

type Plan = BillingStatus['pricing'][number];
type Tier = Plan['tier'];
type PlanDialog =
  | { readonly kind: 'upgrade'; readonly tier: PaidPlan }
  | { readonly kind: 'downgrade'; readonly tier: 'free' | 'starter' }
  | { readonly kind: 'pause' };

interface PlansProps {
  readonly status: BillingStatus;
  readonly onChanged: () => void;
}

/** Plans side by side, with the current one and pending changes. */
export function Plans({ status, onChanged }: PlansProps) {
  const [dialog, setDialog] = useState<PlanDialog | null>(null);
  const isOwner = hasRole('OWNER');
  return (
    <Card title={texts.plan}>
      <PlanNotices
        status={status}
        onChanged={onChanged}
        onResume={isOwner ? () => setDialog({ kind: 'upgrade', tier: resumedTier(status) }) : null}
      />
      {status.paused_tier === null && <p class="muted">{summary(status)}</p>}
      <ul class="plans">
        {status.pricing.map((plan) => (
          <PlanCard key={plan.tier} plan={plan} status={status} onOpenDialog={isOwner ? setDialog : null} />
        ))}
      </ul>
      {isOwner && (status.status === 'active' || status.status === 'past_due') && (
        <PauseSection status={status} onOpenDialog={setDialog} />
      )}
      {dialog !== null && (
        <ActivePlanDialog
          dialog={dialog}
          status={status}
          onClose={() => setDialog(null)}
          onChanged={onChanged}
        />
      )}
    </Card>
  );
}

function resumedTier({ paused_tier: paused }: BillingStatus): PaidPlan {
  return paused !== null && isPaidPlan(paused) ? paused : 'starter';
}

/** Sentence with the current plan, its price and the next charge. */
function summary({ subscription_tier: tier, status: state, pricing, ...status }: BillingStatus): string {
  const price = pricing.find((each) => each.tier === tier)?.monthly_price_cents ?? null;
  if (price === null) return fill(texts.youAreOnTheTier, { tier: tierName(tier) });
  if (price === 0) return fill(texts.youAreOnTheTierPlan, { tier: tierName(tier) });
  const cost = fill(texts.youAreOnTheTierPlanPrice, {
    tier: tierName(tier),
    price: formatMoney(price, status.currency),
  });
  return state === 'active' && status.current_period_end !== null && status.pending_downgrade === null
    ? fill(texts.costNextChargeOnCurrentPeriodEnd, {
        cost,
        currentPeriodEnd: formatBillingDate(status.current_period_end),
      })
    : `${cost}.`;
}

/** `unavailable`: the plan cannot be chosen now, with the reason. `available`: the dialog to choose it. */
type PlanChoice =
  | { readonly kind: 'none' }
  | { readonly kind: 'unavailable'; readonly label: string; readonly reason: string }
  | { readonly kind: 'available'; readonly label: string; readonly dialog: PlanDialog };

function planChoiceOf(tier: Tier, status: BillingStatus): PlanChoice {
  const { subscription_tier: current, paused_tier: paused, pending_upgrade: pendingUpgrade } = status;
  if (paused !== null) {
    if (tier === paused || !isPaidPlan(tier)) return { kind: 'none' };
    const label = fill(texts.changeToTier, { tier: tierName(tier) });
    return { kind: 'unavailable', label, reason: texts.resumeYourPlanFirst };
  }
  const step = tiers.indexOf(tier) - tiers.indexOf(current);
  if (step > 0 && isPaidPlan(tier) && pendingUpgrade?.tier !== tier) {
    const open: AvailablePlan = {
      label: fill(texts.upgradeToTier, { tier: tierName(tier) }),
      dialog: { kind: 'upgrade', tier },
    };
    return toPlanChoice(status, open, status.status === 'past_due' ? texts.payTheOpenInvoiceFirst : null);
  }
  const isLower = step < 0 && (tier === 'free' || tier === 'starter');
  if (isLower && status.status !== 'none' && status.pending_downgrade?.tier !== tier) {
    const open: AvailablePlan = {
      label: fill(texts.changeToTier, { tier: tierName(tier) }),
      dialog: { kind: 'downgrade', tier },
    };
    return toPlanChoice(status, open, pendingUpgrade === null ? null : texts.anUpgradeIsAwaitingPayment);
  }
  return { kind: 'none' };
}

type AvailablePlan = Pick<Extract<PlanChoice, { kind: 'available' }>, 'label' | 'dialog'>;

function toPlanChoice(
  { stale }: BillingStatus,
  { label, dialog }: AvailablePlan,
  obstacle: string | null = null,
): PlanChoice {
  const reason = stale ? texts.unavailableUntilThePaymentProvider : obstacle;
  return reason === null ? { kind: 'available', label, dialog } : { kind: 'unavailable', label, reason };
}

interface PlanCardProps {
  readonly plan: Plan;
  readonly status: BillingStatus;
  /** Null if the user may not change the plan. */
  readonly onOpenDialog: ((dialog: PlanDialog) => void) | null;
}

function PlanCard({ plan, status, onOpenDialog }: PlanCardProps) {
  const { tier } = plan;
  // A paused plan stays that of the organization, although the limits of another one apply.
  const isCurrent = tier === (status.paused_tier ?? status.subscription_tier);
  const choice: PlanChoice = onOpenDialog === null ? { kind: 'none' } : planChoiceOf(tier, status);
  const reasonId = `plan-${tier}-reason`;
  return (
    <li class={isCurrent ? 'plan current' : 'plan'}>
      <h3 class="row">
        {tierName(tier)} <PlanChip tier={tier} status={status} />
      </h3>
      <Price plan={plan} />
      <dl class="allowances">
        {allowances(plan).map(([name, limit]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{limit}</dd>
          </div>
        ))}
      </dl>
      <div class="plan-foot">
        {choice.kind === 'available' && (
          <Button
            tone={choice.dialog.kind === 'upgrade' ? 'primary' : 'plain'}
            class="wide"
            onClick={() => onOpenDialog?.(choice.dialog)}
          >
            {choice.label}
          </Button>
        )}
        {choice.kind === 'unavailable' && (
          <>
            <Button class="wide" disabled aria-describedby={reasonId}>
              {choice.label}
            </Button>
            <p id={reasonId} class="hint">
              {choice.reason}
            </p>
          </>
        )}
        {tier === 'enterprise' && !isCurrent && <p class="hint">{texts.contactTheOperatorOfThis}</p>}
      </div>
    </li>
  );
}

function PlanChip({ tier, status }: { readonly tier: Tier; readonly status: BillingStatus }) {
  if (tier === status.paused_tier) return <Chip tone="warning">{texts.yourPlanPaused}</Chip>;
  if (tier === status.subscription_tier) {
    return status.paused_tier === null ? (
      <Tag tone="info">{texts.yourPlan}</Tag>
    ) : (
      <Tag>{texts.limitsInForce}</Tag>
    );
  }
  if (tier === status.pending_upgrade?.tier) return <Chip tone="warning">{texts.unpaid}</Chip>;
  return tier === status.pending_downgrade?.tier ? <Chip>{texts.scheduled}</Chip> : null;
}

function Price({ plan: { monthly_price_cents: price, currency } }: Pick<PlanCardProps, 'plan'>) {
  if (price === null) return <p class="price">{texts.contactUs}</p>;
  return (
    <p class="price">
      {formatMoney(price, currency)} <span class="hint">{texts.perMonth}</span>
    </p>
  );
}

function allowances({ rate_limits: limits }: Plan): [string, string][] {
  const perMinute = (value: number | null, format: (value: number) => string) =>
    value === null ? texts.unlimited : fill(texts.amountMin, { amount: format(value) });
  return [
    [texts.fastModels, perMinute(limits.bpm_fast, formatBytes)],
    [texts.slowModels, perMinute(limits.bpm_slow, formatBytes)],
    [texts.fastReranks, perMinute(limits.rpm, formatCount)],
    [texts.documents, limits.max_documents === null ? texts.unlimited : formatCount(limits.max_documents)],
  ];
}

function PauseSection({
  status,
  onOpenDialog,
}: {
  readonly status: BillingStatus;
  readonly onOpenDialog: (dialog: PlanDialog) => void;
}) {
  const reason = pauseObstacle(status);
  return (
    <div class="row apart-row">
      <Button
        disabled={reason !== null}
        aria-describedby="pause-hint"
        onClick={() => onOpenDialog({ kind: 'pause' })}
      >
        {texts.pauseSubscription}
      </Button>
      <span id="pause-hint" class="hint">
        {reason ?? texts.whileTheSubscriptionIsPaused}
      </span>
    </div>
  );
}

function pauseObstacle({
  stale,
  status,
  pending_downgrade: pendingDowngrade,
  pending_upgrade: pendingUpgrade,
}: BillingStatus): string | null {
  if (stale) return texts.unavailableUntilThePaymentProvider;
  if (status === 'past_due') return texts.payTheOpenInvoiceFirst;
  if (pendingUpgrade !== null) return texts.anUpgradeIsAwaitingPayment;
  return pendingDowngrade === null ? null : texts.cancelTheScheduledPlanChange;
}

interface ActivePlanDialogProps extends PlansProps {
  readonly dialog: PlanDialog;
  readonly onClose: () => void;
}

function ActivePlanDialog({ dialog, status, onClose, onChanged }: ActivePlanDialogProps) {
  const done = (message: string) => {
    showToast(message, 'good', planTopic);
    onChanged();
  };
  const current = tierName(status.subscription_tier);
  switch (dialog.kind) {
    case 'upgrade':
      return <UpgradeDialog tier={dialog.tier} status={status} onClose={onClose} onChanged={onChanged} />;
    case 'downgrade':
      return (
        <ConfirmDialog
          title={fill(texts.changeToTier2, { tier: tierName(dialog.tier) })}
          action={fill(texts.changeToTier, { tier: tierName(dialog.tier) })}
          tone="primary"
          onClose={onClose}
          onConfirm={async () => {
            await downgrade(dialog.tier);
            done(fill(texts.changeToTierScheduled, { tier: tierName(dialog.tier) }));
          }}
        >
          <p>
            {fill(texts.keptNextYouCanCancel, {
              kept:
                status.current_period_end === null
                  ? fill(texts.youKeepCurrentForThe, { current })
                  : fill(texts.youKeepCurrentUntilCurrentPeriodEnd, {
                      current,
                      currentPeriodEnd: formatBillingDate(status.current_period_end),
                    }),
              next:
                dialog.tier === 'free'
                  ? texts.thenTheSubscriptionEndsAnd
                  : fill(texts.thenThePriceAndLimits, { tier: tierName(dialog.tier) }),
            })}
          </p>
        </ConfirmDialog>
      );
    case 'pause':
      return (
        <ConfirmDialog
          title={texts.pauseSubscription2}
          action={texts.pause}
          tone="primary"
          onClose={onClose}
          onConfirm={async () => {
            await pauseSubscription();
            done(texts.subscriptionPaused);
          }}
        >
          <p>{texts.usageUntilNowIsCharged}</p>
        </ConfirmDialog>
      );
  }
}
