import { useState } from 'preact/hooks';
import { now } from '../../browser/clock.ts';
import { Button } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Card } from '../../parts/page.tsx';
import { toast } from '../../parts/toasts.tsx';
import { Trouble } from '../../parts/trouble.tsx';
import {
  cancelDowngrade,
  downgrade,
  type PaidTier,
  pauseSubscription,
  type Status,
  subscribe,
} from '../../server/billing.ts';
import { useDoing } from '../../server/doing.ts';
import { money } from '../../words/money.ts';
import { count } from '../../words/numbers.ts';
import { day } from '../../words/times.ts';
import { mayAs } from './roles.tsx';
import { tierName, tiers } from './tiers.ts';

type Plan = Status['pricing'][number];
type Asked =
  | { readonly what: 'up' | 'resume'; readonly tier: PaidTier }
  | { readonly what: 'down'; readonly tier: 'free' | 'starter' }
  | { readonly what: 'pause' };

interface PlansProps {
  readonly status: Status;
  readonly onChanged: () => void;
}

/** The plans side by side, the one that applies, and what is on its way. */
export function Plans({ status, onChanged }: PlansProps) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const owns = mayAs('OWNER');
  const { pricing, subscription_tier: current, status: state, paused_tier: paused } = status;
  return (
    <Card
      title="Plan"
      actions={
        owns &&
        (state === 'active' || state === 'past_due') && (
          <Button tone="ghost" onClick={() => setAsked({ what: 'pause' })}>
            Pause the subscription
          </Button>
        )
      }
    >
      <OnItsWay status={status} onChanged={onChanged} />
      <ul class="plans">
        {pricing.map((plan) => (
          <li key={plan.tier} class={plan.tier === current ? 'plan current' : 'plan'}>
            <h3>
              {tierName(plan.tier)} {plan.tier === current && <Chip tone="info">Your plan</Chip>}
            </h3>
            <p class="price">{priceWords(plan)}</p>
            <ul class="soft">
              {allowances(plan).map((words) => (
                <li key={words}>{words}</li>
              ))}
            </ul>
            {owns && <PlanButton plan={plan} current={current} paused={paused} onAsk={setAsked} />}
          </li>
        ))}
      </ul>
      {asked !== null && (
        <Asking asked={asked} status={status} onClose={() => setAsked(null)} onChanged={onChanged} />
      )}
    </Card>
  );
}

function priceWords({ monthly_price_cents: price, currency }: Plan): string {
  if (price === null) return 'Let us talk';
  return price === 0 ? 'Free' : `${money(price, currency)} a month`;
}

function allowances({ rate_limits: limits }: Plan): string[] {
  const most = (value: number | null, what: string) =>
    `${value === null ? 'Any number of' : count(value)} ${what}`;
  return [
    most(limits.bpm_fast, 'bytes a minute, fast'),
    most(limits.bpm_slow, 'bytes a minute, slow'),
    most(limits.rpm, 'reranks a minute'),
    most(limits.max_documents, 'documents'),
  ];
}

interface PlanButtonProps {
  readonly plan: Plan;
  readonly current: Status['subscription_tier'];
  readonly paused: Status['paused_tier'];
  readonly onAsk: (asked: Asked) => void;
}

function PlanButton({ plan: { tier }, current, paused, onAsk }: PlanButtonProps) {
  if (tier === paused && (tier === 'starter' || tier === 'teams')) {
    return (
      <Button tone="primary" onClick={() => onAsk({ what: 'resume', tier })}>
        Resume
      </Button>
    );
  }
  const step = tiers.indexOf(tier) - tiers.indexOf(current);
  if (step > 0 && (tier === 'starter' || tier === 'teams')) {
    return (
      <Button tone="primary" onClick={() => onAsk({ what: 'up', tier })}>
        Upgrade to {tierName(tier)}
      </Button>
    );
  }
  if (step < 0 && (tier === 'free' || tier === 'starter')) {
    return <Button onClick={() => onAsk({ what: 'down', tier })}>Change to {tierName(tier)}</Button>;
  }
  return null;
}

function OnItsWay({ status, onChanged }: PlansProps) {
  const { pending_downgrade: down, pending_upgrade: up, paused_at: pausedAt } = status;
  const stay = useDoing(async () => {
    await cancelDowngrade();
    toast('Your plan stays.');
    onChanged();
  });
  return (
    <>
      {up !== null && (
        <p class="note">
          The upgrade to {tierName(up.tier)} waits for its payment.{' '}
          {up.hosted_invoice_url !== null && <a href={up.hosted_invoice_url}>Complete the payment</a>}
        </p>
      )}
      {down !== null && (
        <div class="note row between">
          <span>
            From {day(down.effective_at)} on you have the plan {tierName(down.tier)}.
          </span>
          {mayAs('OWNER') && (
            <Button busy={stay.isBusy} onClick={stay.start}>
              Keep the plan
            </Button>
          )}
        </div>
      )}
      {pausedAt !== null && (
        <p class="note">The subscription rests since {day(pausedAt)}; the limits are those of Free.</p>
      )}
      <Trouble error={stay.error} />
    </>
  );
}

interface AskingProps extends PlansProps {
  readonly asked: Asked;
  readonly onClose: () => void;
}

function Asking({ asked, status, onClose, onChanged }: AskingProps) {
  const done = (words: string) => {
    toast(words);
    onChanged();
  };
  switch (asked.what) {
    case 'up':
    case 'resume':
      return <Upgrade tier={asked.tier} status={status} onClose={onClose} onChanged={onChanged} />;
    case 'down':
      return (
        <Confirm
          title={`Change to ${tierName(asked.tier)}?`}
          action={`Change to ${tierName(asked.tier)}`}
          onClose={onClose}
          onConfirm={async () => {
            await downgrade(asked.tier);
            done('The change is planned.');
          }}
        >
          <p>
            You keep what you paid for until the end of this month; on the first of the next the lower limits
            apply.
          </p>
        </Confirm>
      );
    case 'pause':
      return (
        <Confirm
          title="Pause the subscription?"
          action="Pause"
          onClose={onClose}
          onConfirm={async () => {
            await pauseSubscription();
            done('The subscription rests.');
          }}
        >
          <p>
            Nothing is charged while it rests, and the limits of the free plan apply. You can resume it at any
            time.
          </p>
        </Confirm>
      );
  }
}

/** What is about to be charged for the rest of the month; the invoice has the exact amount. */
function prorated(status: Status, tier: PaidTier, nowMs: number): number | null {
  const priceOf = (wanted: string) =>
    status.pricing.find((plan) => plan.tier === wanted)?.monthly_price_cents ?? null;
  const [to, from] = [priceOf(tier), priceOf(status.subscription_tier) ?? 0];
  if (to === null) return null;
  const today = new Date(nowMs);
  const [year, month] = [today.getUTCFullYear(), today.getUTCMonth()];
  const [begin, end] = [Date.UTC(year, month), Date.UTC(year, month + 1)];
  return Math.round(((to - from) * (end - nowMs)) / (end - begin));
}

function Upgrade({
  tier,
  status,
  onClose,
  onChanged,
}: PlansProps & { readonly tier: PaidTier; readonly onClose: () => void }) {
  const plan = status.pricing.find((each) => each.tier === tier);
  const due = prorated(status, tier, now());
  const isPaused = status.paused_tier === tier;
  const start = useDoing(async () => {
    const reply = await subscribe(tier);
    onChanged();
    if (reply.hosted_invoice_url !== null && reply.status !== 'active' && reply.status !== 'resumed') {
      window.location.assign(reply.hosted_invoice_url);
      return;
    }
    toast(`You have the plan ${tierName(reply.subscription_tier)} now.`);
    onClose();
  });
  return (
    <Dialog title={`${isPaused ? 'Resume' : 'Upgrade to'} ${tierName(tier)}`} onClose={onClose}>
      <dl class="figures">
        <div>
          <dt>A month</dt>
          <dd class="amount">{plan === undefined ? '' : priceWords(plan)}</dd>
        </div>
        {due !== null && !isPaused && (
          <div>
            <dt>Today, for the rest of this month</dt>
            <dd class="amount">about {money(due, status.currency)}</dd>
          </div>
        )}
      </dl>
      <p class="soft">
        It is charged now; the invoice has the exact amount, with taxes and credit. Your bank may ask you to
        confirm it.
      </p>
      <Trouble error={start.error} />
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button tone="primary" busy={start.isBusy} onClick={start.start}>
          {isPaused ? 'Resume' : 'Upgrade'}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
