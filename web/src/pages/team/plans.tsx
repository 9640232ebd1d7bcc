import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Card } from '../../parts/page.tsx';
import { toast } from '../../parts/toasts.tsx';
import { Trouble } from '../../parts/trouble.tsx';
import {
  cancelDowngrade,
  cancelUpgrade,
  downgrade,
  isPaidTier,
  type PaidTier,
  pauseSubscription,
  type Status,
} from '../../server/billing.ts';
import { useDoing } from '../../server/doing.ts';
import { money } from '../../words/money.ts';
import { bytes, count } from '../../words/numbers.ts';
import { billingDay, exact } from '../../words/times.ts';
import { mayAs } from './roles.tsx';
import { tierName, tiers } from './tiers.ts';
import { Upgrade } from './upgrade.tsx';

type Plan = Status['pricing'][number];
type Tier = Plan['tier'];
type Asked =
  | { readonly what: 'up'; readonly tier: PaidTier }
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
  return (
    <Card title="Plan">
      <Notices status={status} onChanged={onChanged} />
      <p class="soft">{summary(status)}</p>
      <ul class="plans">
        {status.pricing.map((plan) => (
          <PlanCard key={plan.tier} plan={plan} status={status} onAsk={owns ? setAsked : null} />
        ))}
      </ul>
      {owns && (status.status === 'active' || status.status === 'past_due') && (
        <Pause status={status} onAsk={setAsked} />
      )}
      {asked !== null && (
        <Asking asked={asked} status={status} onClose={() => setAsked(null)} onChanged={onChanged} />
      )}
    </Card>
  );
}

/** What the organisation has, costs and when it is charged again, in a sentence. */
function summary({ subscription_tier: tier, status: state, pricing, ...status }: Status): string {
  const price = pricing.find((each) => each.tier === tier)?.monthly_price_cents ?? null;
  if (price === null) return `You are on ${tierName(tier)}.`;
  if (price === 0) return `You are on ${tierName(tier)}, which costs nothing.`;
  const cost = `You are on ${tierName(tier)}: ${money(price, status.currency)} a month`;
  return state === 'active' && status.current_period_end !== null && status.pending_downgrade === null
    ? `${cost}, charged again on ${billingDay(status.current_period_end)}.`
    : `${cost}.`;
}

/** `waits`: it cannot be chosen just now, and why; otherwise what choosing it means. */
type Choice =
  | { readonly is: 'none' }
  | { readonly is: 'waits'; readonly words: string; readonly why: string }
  | { readonly is: 'open'; readonly words: string; readonly asked: Asked };

function choiceOf(tier: Tier, status: Status): Choice {
  const { subscription_tier: current, paused_tier: paused, pending_upgrade: up } = status;
  if (paused !== null) return tier === paused ? offered(status, resumption(tier)) : { is: 'none' };
  const step = tiers.indexOf(tier) - tiers.indexOf(current);
  if (step > 0 && isPaidTier(tier) && up?.tier !== tier) {
    const open: Offer = { words: `Upgrade to ${tierName(tier)}`, asked: { what: 'up', tier } };
    return offered(status, open, status.status === 'past_due' ? 'Pay the open invoice first.' : null);
  }
  const isLower = step < 0 && (tier === 'free' || tier === 'starter');
  if (isLower && status.status !== 'none' && status.pending_downgrade?.tier !== tier) {
    const open: Offer = { words: `Change to ${tierName(tier)}`, asked: { what: 'down', tier } };
    return offered(status, open, up === null ? null : 'An upgrade waits for its payment.');
  }
  return { is: 'none' };
}

type Offer = Pick<Extract<Choice, { is: 'open' }>, 'words' | 'asked'>;

function resumption(tier: Tier): Offer {
  return { words: 'Resume', asked: { what: 'up', tier: isPaidTier(tier) ? tier : 'starter' } };
}

function offered({ stale }: Status, { words, asked }: Offer, why: string | null = null): Choice {
  const reason = stale ? 'Waits for the payment provider.' : why;
  return reason === null ? { is: 'open', words, asked } : { is: 'waits', words, why: reason };
}

interface PlanCardProps {
  readonly plan: Plan;
  readonly status: Status;
  /** Null for who may only look. */
  readonly onAsk: ((asked: Asked) => void) | null;
}

function PlanCard({ plan, status, onAsk }: PlanCardProps) {
  const { tier } = plan;
  const isCurrent = tier === status.subscription_tier;
  const choice: Choice = onAsk === null ? { is: 'none' } : choiceOf(tier, status);
  const why = `plan-${tier}-why`;
  return (
    <li class={isCurrent ? 'plan current' : 'plan'}>
      <h3 class="row">
        {tierName(tier)} <PlanChip tier={tier} status={status} />
      </h3>
      <Price plan={plan} />
      <dl class="allowances">
        {allowances(plan).map(([what, most]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{most}</dd>
          </div>
        ))}
      </dl>
      <div class="plan-foot">
        {choice.is === 'open' && (
          <Button
            tone={choice.asked.what === 'up' ? 'primary' : 'plain'}
            class="wide"
            onClick={() => onAsk?.(choice.asked)}
          >
            {choice.words}
          </Button>
        )}
        {choice.is === 'waits' && (
          <>
            <Button class="wide" disabled aria-describedby={why}>
              {choice.words}
            </Button>
            <p id={why} class="hint">
              {choice.why}
            </p>
          </>
        )}
        {tier === 'enterprise' && !isCurrent && <p class="hint">Write to whoever runs this server.</p>}
      </div>
    </li>
  );
}

function PlanChip({ tier, status }: { readonly tier: Tier; readonly status: Status }) {
  if (tier === status.paused_tier) return <Chip tone="warning">Paused</Chip>;
  if (tier === status.subscription_tier) return <Chip tone="info">Your plan</Chip>;
  if (tier === status.pending_upgrade?.tier) return <Chip tone="warning">Unpaid</Chip>;
  return tier === status.pending_downgrade?.tier ? <Chip>Planned</Chip> : null;
}

function Price({ plan: { monthly_price_cents: price, currency } }: Pick<PlanCardProps, 'plan'>) {
  if (price === null) return <p class="price">Let us talk</p>;
  return (
    <p class="price">
      {money(price, currency)} <span class="hint">a month</span>
    </p>
  );
}

function allowances({ rate_limits: limits }: Plan): [string, string][] {
  const perMinute = (value: number | null, words: (value: number) => string) =>
    value === null ? 'Unlimited' : `${words(value)}/min`;
  return [
    ['Models, fast', perMinute(limits.bpm_fast, bytes)],
    ['Models, slow', perMinute(limits.bpm_slow, bytes)],
    ['Reranks, fast', perMinute(limits.rpm, count)],
    ['Documents', limits.max_documents === null ? 'Unlimited' : count(limits.max_documents)],
  ];
}

/** What is on its way, or stands still, above the plans. */
function Notices({ status, onChanged }: PlansProps) {
  const { pending_downgrade: down, paused_at: pausedAt } = status;
  return (
    <>
      <Unpaid status={status} onChanged={onChanged} />
      {down !== null && <Planned down={down} status={status} onChanged={onChanged} />}
      {pausedAt !== null && (
        <p class="note">
          {`The subscription is paused since ${billingDay(pausedAt)}: nothing more is charged, and the limits are those of Free.`}
        </p>
      )}
    </>
  );
}

function Unpaid({ status, onChanged }: PlansProps) {
  const { pending_upgrade: up, status: state, invoices } = status;
  const mayOwe = state === 'past_due' || state === 'paused';
  const owed = mayOwe ? invoices.find((invoice) => invoice.status === 'open') : undefined;
  const address = up?.hosted_invoice_url ?? owed?.hosted_invoice_url ?? null;
  if (up === null && owed === undefined) return null;
  return (
    <div class="note warning row between" role="status">
      <div>
        {up !== null ? (
          <>
            <strong>{tierName(up.tier)} begins when its invoice is paid.</strong> Your bank may ask you to
            confirm it. {up.expires_at !== null && `It is given up on ${exact(up.expires_at)}. `}
          </>
        ) : (
          <>
            <strong>An invoice waits for its payment.</strong>{' '}
            {state === 'paused' ? 'The plan goes on when it is paid. ' : 'Pay it to keep the plan. '}
          </>
        )}
        This page notices by itself when it is paid.
      </div>
      <div class="row">
        {up !== null && mayAs('OWNER') && <CancelUpgrade status={status} onChanged={onChanged} />}
        {address !== null && (
          <LinkButton href={address} tone="primary" isElsewhere>
            {up === null ? 'Pay the invoice' : 'Complete the payment'}
          </LinkButton>
        )}
      </div>
    </div>
  );
}

function CancelUpgrade({ status, onChanged }: PlansProps) {
  const cancel = useDoing(async () => {
    await cancelUpgrade();
    toast('The upgrade is canceled. Nothing was charged.');
    onChanged();
  });
  return (
    <div>
      <Button busy={cancel.isBusy} disabled={status.stale} onClick={cancel.start}>
        Cancel the upgrade
      </Button>
      <Trouble error={cancel.error} />
    </div>
  );
}

interface PlannedProps extends PlansProps {
  readonly down: NonNullable<Status['pending_downgrade']>;
}

function Planned({ down, status, onChanged }: PlannedProps) {
  const stay = useDoing(async () => {
    await cancelDowngrade();
    toast(`Your plan stays ${tierName(status.subscription_tier)}.`);
    onChanged();
  });
  return (
    <>
      <div class="note row between">
        <div>
          <strong>{`From ${billingDay(down.effective_at)} on you have the plan ${tierName(down.tier)}.`}</strong>{' '}
          {`Until then ${tierName(status.subscription_tier)} stays as it is.`}
        </div>
        {mayAs('OWNER') && (
          <Button busy={stay.isBusy} disabled={status.stale} onClick={stay.start}>
            Keep {tierName(status.subscription_tier)}
          </Button>
        )}
      </div>
      <Trouble error={stay.error} />
    </>
  );
}

function Pause({ status, onAsk }: { readonly status: Status; readonly onAsk: (asked: Asked) => void }) {
  const why = whyNoPause(status);
  return (
    <div class="row apart-row">
      <Button disabled={why !== null} aria-describedby="pause-words" onClick={() => onAsk({ what: 'pause' })}>
        Pause the subscription
      </Button>
      <span id="pause-words" class="hint">
        {why ?? 'Nothing more is charged while it is paused, and the limits are those of Free.'}
      </span>
    </div>
  );
}

function whyNoPause({ stale, status, pending_downgrade: down, pending_upgrade: up }: Status): string | null {
  if (stale) return 'Waits for the payment provider.';
  if (status === 'past_due') return 'Not while an invoice is open: pay it first.';
  if (up !== null) return 'Not while an upgrade waits for its payment.';
  return down === null ? null : 'Not while a change is planned: take it back first.';
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
  const current = tierName(status.subscription_tier);
  switch (asked.what) {
    case 'up':
      return <Upgrade tier={asked.tier} status={status} onClose={onClose} onChanged={onChanged} />;
    case 'down':
      return (
        <Confirm
          title={`Change to ${tierName(asked.tier)}?`}
          action={`Change to ${tierName(asked.tier)}`}
          tone="primary"
          onClose={onClose}
          onConfirm={async () => {
            await downgrade(asked.tier);
            done(`The change to ${tierName(asked.tier)} is planned.`);
          }}
        >
          <p>
            {status.current_period_end === null
              ? `You keep ${current} for what is paid.`
              : `You keep ${current} until ${billingDay(status.current_period_end)}.`}{' '}
            {asked.tier === 'free'
              ? 'Then the subscription ends and the limits of Free apply.'
              : `Then ${tierName(asked.tier)} begins, with its price and its limits.`}{' '}
            You can take this back until then.
          </p>
        </Confirm>
      );
    case 'pause':
      return (
        <Confirm
          title="Pause the subscription?"
          action="Pause"
          tone="primary"
          onClose={onClose}
          onConfirm={async () => {
            await pauseSubscription();
            done('The subscription is paused.');
          }}
        >
          <p>
            What you used until now is charged, and what you paid for the rest of the month becomes credit.
            The limits of Free apply at once. You can resume at any time, which charges the rest of that
            month.
          </p>
        </Confirm>
      );
  }
}
