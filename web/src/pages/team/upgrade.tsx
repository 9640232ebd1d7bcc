import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { toast } from '../../parts/toasts.tsx';
import { Trouble } from '../../parts/trouble.tsx';
import {
  type PaidTier,
  type Preview,
  previewSubscription,
  type Status,
  subscribe,
} from '../../server/billing.ts';
import { useDoing } from '../../server/doing.ts';
import { type Loaded, useLoad } from '../../server/load.ts';
import { money } from '../../words/money.ts';
import { billingDay } from '../../words/times.ts';
import { methodName } from './payment-words.ts';
import { tierName } from './tiers.ts';

interface UpgradeProps {
  readonly tier: PaidTier;
  readonly status: Status;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** To a higher plan, or back to the one that is paused: what is charged, to what, and what the bank still wants. */
export function Upgrade({ tier, status, onClose, onChanged }: UpgradeProps) {
  const isPaused = status.paused_tier === tier;
  const preview = useLoad((abort) => previewSubscription(tier, abort), [tier]);
  const [method, setMethod] = useState(usualMethod(status));
  const [payAt, setPayAt] = useState<string | null>(null);
  const start = useDoing(async () => {
    const reply = await subscribe(tier, method, preview.data?.as_of ?? null);
    onChanged();
    if (reply.status === 'active' || reply.status === 'resumed') {
      toast(`You have the plan ${tierName(reply.subscription_tier)} now.`);
      onClose();
      return;
    }
    setPayAt(reply.hosted_invoice_url);
  });
  if (payAt !== null) return <PayElsewhere tier={tier} address={payAt} onClose={onClose} />;
  const due = preview.data?.due_cents ?? 0;
  return (
    <Dialog
      title={`${isPaused ? 'Resume' : 'Upgrade to'} ${tierName(tier)}`}
      onClose={onClose}
      mayClose={!start.isBusy}
    >
      <WhatIsCharged preview={preview} />
      <PayWith status={status} method={method} onChange={setMethod} />
      <Trouble error={start.error} />
      <DialogActions>
        <Button disabled={start.isBusy} onClick={onClose}>
          Cancel
        </Button>
        <Button
          tone="primary"
          busy={start.isBusy}
          disabled={preview.data === undefined && preview.error === null}
          onClick={start.start}
        >
          {due > 0 && method !== null
            ? `Pay ${money(due, status.currency)}`
            : isPaused
              ? 'Resume'
              : 'Upgrade'}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function usualMethod({ payment_methods: methods }: Status): string | null {
  return (methods.find((each) => each.is_default) ?? methods[0])?.id ?? null;
}

function WhatIsCharged({ preview: { data, error } }: { readonly preview: Loaded<Preview> }) {
  if (error !== null)
    return (
      <>
        <Trouble error={error} />
        <p class="hint">What would be charged cannot be shown; the invoice will have it.</p>
      </>
    );
  if (data === undefined) return <Skeleton lines={5} />;
  const cents = (amount: number) => money(amount, data.currency);
  const others = data.total_cents - data.lines.reduce((sum, line) => sum + line.amount_cents, 0);
  return (
    <>
      <table class="sum">
        <caption class="unseen">What is charged now</caption>
        <tbody>
          {data.lines.map(({ description, amount_cents: amount }) => (
            <SumRow key={description} what={description} amount={cents(amount)} />
          ))}
          {others !== 0 && <SumRow what="Taxes and discounts" amount={cents(others)} />}
          {data.credit_cents > 0 && <SumRow what="Your credit" amount={cents(-data.credit_cents)} />}
        </tbody>
        <tfoot>
          <SumRow what="Due now" amount={cents(data.due_cents)} />
        </tfoot>
      </table>
      <p class="hint">
        {`As of this minute, for the rest of the month. From ${billingDay(data.next_invoice_at)} on it is ${cents(data.monthly_price_cents)} a month.`}
      </p>
    </>
  );
}

function SumRow({ what, amount }: { readonly what: string; readonly amount: string }) {
  return (
    <tr>
      <th scope="row">{what}</th>
      <td class="number">{amount}</td>
    </tr>
  );
}

interface PayWithProps {
  readonly status: Status;
  readonly method: string | null;
  readonly onChange: (method: string) => void;
}

function PayWith({ status: { payment_methods: methods }, method, onChange }: PayWithProps) {
  if (methods.length === 0)
    return (
      <p class="hint">
        There is no payment method yet: the invoice opens on a page of the payment provider, where you type in
        your card.
      </p>
    );
  return (
    <Field label="Pay with" hint="Later invoices are charged to it, too.">
      {(control) => (
        <select {...control} value={method ?? ''} onChange={(event) => onChange(event.currentTarget.value)}>
          {methods.map((each) => (
            <option key={each.id} value={each.id}>
              {methodName(each)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface PayElsewhereProps {
  readonly tier: PaidTier;
  readonly address: string;
  readonly onClose: () => void;
}

/** The invoice has a page of its own, which does not lead back: it opens in another tab. */
function PayElsewhere({ tier, address, onClose }: PayElsewhereProps) {
  return (
    <Dialog title="One more step" onClose={onClose}>
      <p class="prose">
        {`Complete the payment on the page of the payment provider, which opens in a new tab. ${tierName(tier)} begins as soon as it is paid; this page notices by itself.`}
      </p>
      <DialogActions>
        <Button onClick={onClose}>Later</Button>
        <LinkButton href={address} tone="primary" isElsewhere onFollow={onClose}>
          Complete the payment
        </LinkButton>
      </DialogActions>
    </Dialog>
  );
}
