import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../components/button.tsx';
import { Dialog, DialogActions } from '../../components/dialog.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Field } from '../../components/field.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { planTopic, showToast } from '../../components/toasts.tsx';
import { formatMoney } from '../../format/money.ts';
import { formatBillingDate } from '../../format/times.ts';
import {
  type BillingStatus,
  type PaidPlan,
  previewSubscription,
  type SubscriptionPreview,
  subscribe,
} from '../../server/billing.ts';
import { type LoadState, useLoad } from '../../server/load.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/billing.ts';
import { fill } from '../../texts/format-text.ts';
import { paymentMethodName } from './payment-method-name.ts';
import { tierName } from './tiers.ts';

interface UpgradeDialogProps {
  readonly tier: PaidPlan;
  readonly status: BillingStatus;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/**
 * Dialog to upgrade or to resume the paused plan: shows the charge, the payment method, and further steps
 * that the bank requires.
 */
export function UpgradeDialog({ tier, status, onClose, onChanged }: UpgradeDialogProps) {
  const isPaused = status.paused_tier === tier;
  const preview = useLoad((abort) => previewSubscription(tier, abort), [tier]);
  const [method, setMethod] = useState(defaultMethodId(status));
  const [paymentUrl, setPaymentUrl] = useState<string | null>(null);
  const start = useAsyncAction(async () => {
    const reply = await subscribe(tier, method, preview.data?.as_of ?? null);
    onChanged();
    if (reply.status === 'active' || reply.status === 'resumed') {
      showToast(
        fill(texts.yourPlanIsNowSubscriptionTier, { subscriptionTier: tierName(reply.subscription_tier) }),
        'good',
        planTopic,
      );
      onClose();
      return;
    }
    setPaymentUrl(reply.hosted_invoice_url);
  });
  if (paymentUrl !== null) return <HostedPaymentDialog tier={tier} address={paymentUrl} onClose={onClose} />;
  const due = preview.data?.due_cents ?? 0;
  return (
    <Dialog
      title={`${isPaused ? texts.resume : texts.upgradeTo} ${tierName(tier)}`}
      onClose={onClose}
      mayClose={!start.isBusy}
    >
      <ChargePreview preview={preview} />
      <PaymentMethodField status={status} method={method} onChange={setMethod} />
      <DialogActions error={start.error}>
        <Button disabled={start.isBusy} onClick={onClose}>
          {texts.cancel}
        </Button>
        <Button
          tone="primary"
          busy={start.isBusy}
          disabled={preview.data === undefined && preview.error === null}
          onClick={start.start}
        >
          {due > 0 && method !== null
            ? fill(texts.payDue, { due: formatMoney(due, status.currency) })
            : isPaused
              ? texts.resume
              : texts.upgrade}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function defaultMethodId({ payment_methods: methods }: BillingStatus): string | null {
  return (methods.find((each) => each.is_default) ?? methods[0])?.id ?? null;
}

function ChargePreview({ preview: { data, error } }: { readonly preview: LoadState<SubscriptionPreview> }) {
  if (error !== null)
    return (
      <>
        <ErrorMessage error={error} />
        <p class="hint">{texts.theChargeCannotBePreviewed}</p>
      </>
    );
  if (data === undefined) return <Skeleton lines={5} />;
  const cents = (amount: number) => formatMoney(amount, data.currency);
  const taxesAndDiscounts = data.total_cents - data.lines.reduce((sum, line) => sum + line.amount_cents, 0);
  return (
    <>
      <table class="sum">
        <caption class="visually-hidden">{texts.chargesDueNow}</caption>
        <tbody>
          {data.lines.map(({ description, amount_cents: amount }) => (
            <SumRow key={description} label={description} amount={cents(amount)} />
          ))}
          {taxesAndDiscounts !== 0 && (
            <SumRow label={texts.taxesAndDiscounts} amount={cents(taxesAndDiscounts)} />
          )}
          {data.credit_cents > 0 && <SumRow label={texts.yourCredit} amount={cents(-data.credit_cents)} />}
        </tbody>
        <tfoot>
          <SumRow label={texts.dueNow} amount={cents(data.due_cents)} />
        </tfoot>
      </table>
      <p class="hint">
        {fill(texts.chargeForTheRestOf, {
          nextInvoiceAt: formatBillingDate(data.next_invoice_at),
          monthlyPriceCents: cents(data.monthly_price_cents),
        })}
      </p>
    </>
  );
}

function SumRow({ label, amount }: { readonly label: string; readonly amount: string }) {
  return (
    <tr>
      <th scope="row">{label}</th>
      <td class="number">{amount}</td>
    </tr>
  );
}

interface PaymentMethodFieldProps {
  readonly status: BillingStatus;
  readonly method: string | null;
  readonly onChange: (method: string) => void;
}

function PaymentMethodField({
  status: { payment_methods: methods },
  method,
  onChange,
}: PaymentMethodFieldProps) {
  if (methods.length === 0) return <p class="hint">{texts.noPaymentMethodIsStored}</p>;
  return (
    <Field label={texts.payWith} hint={texts.alsoUsedForFutureInvoices}>
      {(control) => (
        <select {...control} value={method ?? ''} onChange={(event) => onChange(event.currentTarget.value)}>
          {methods.map((each) => (
            <option key={each.id} value={each.id}>
              {paymentMethodName(each)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface HostedPaymentDialogProps {
  readonly tier: PaidPlan;
  readonly address: string;
  readonly onClose: () => void;
}

/** The hosted invoice page does not redirect back, so it opens in another tab. */
function HostedPaymentDialog({ tier, address, onClose }: HostedPaymentDialogProps) {
  return (
    <Dialog title={texts.paymentRequired} onClose={onClose}>
      <p class="prose">{fill(texts.completeThePaymentOnThe, { tier: tierName(tier) })}</p>
      <DialogActions>
        <Button onClick={onClose}>{texts.later}</Button>
        <LinkButton href={address} tone="primary" isExternal onFollow={onClose}>
          {texts.completePayment}
        </LinkButton>
      </DialogActions>
    </Dialog>
  );
}
