import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip, type ChipTone } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { TextField } from '../../components/text-field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatMoney } from '../../format/money.ts';
import { formatDate, formatDateTime, formatMonth } from '../../format/times.ts';
import { ApiError, errorMessage } from '../../server/api-call.ts';
import {
  addPaymentMethod,
  type BillingStatus,
  createBillingPortalSession,
  getBillingStatus,
  redeemCode,
  removePaymentMethod,
} from '../../server/billing.ts';
import { useLoad, usePoll } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { paymentMethodName } from './payment-method-name.ts';
import { Plans } from './plans.tsx';
import { hasRole } from './roles.tsx';
import { tierName } from './tiers.ts';
import { usageFigures } from './usage-figures.ts';

/** Page with the organization's plan, payments and payment methods. */
export function BillingPage() {
  const isManager = hasRole('ADMIN');
  const status = useLoad(
    async (abort) => (isManager ? getBillingStatus(abort) : null),
    [organization.value?.organization_id, isManager],
  );
  const found = status.data;
  return (
    <Page title="Billing" subtitle={organization.value?.name}>
      {!isManager ? (
        <EmptyState title="Owners and admins only">
          Owners and admins can view plans and invoices. Owners can change plans.
        </EmptyState>
      ) : found ? (
        found.billing_enabled ? (
          <Billing status={found} onChanged={status.reload} onRead={status.replace} />
        ) : (
          <EmptyState title="Billing is disabled">
            This server does not accept payments. The administrator sets plans and limits.
          </EmptyState>
        )
      ) : status.error === null ? (
        <SkeletonRows rows={8} />
      ) : (
        <LoadError error={status.error} onRetry={status.reload} />
      )}
    </Page>
  );
}

interface BillingSectionProps {
  readonly status: BillingStatus;
  readonly onChanged: () => void;
}

/**
 * Whether the status may change without an action here: a payment elsewhere, or the provider becoming reachable.
 */
function shouldPoll({ stale, pending_upgrade: pendingUpgrade, invoices }: BillingStatus): boolean {
  return stale || pendingUpgrade !== null || invoices.some(({ status }) => status === 'open');
}

function Billing({
  status,
  onChanged,
  onRead,
}: BillingSectionProps & { readonly onRead: (status: BillingStatus) => void }) {
  const isOwner = hasRole('OWNER');
  usePaymentArrivalToast(status);
  return (
    <>
      {shouldPoll(status) && <StatusPoller onRead={onRead} />}
      {status.stale && <StaleNotice readAt={status.read_at} onRetry={onChanged} />}
      <Plans status={status} onChanged={onChanged} />
      <Card title="Payment methods" actions={isOwner && <EditDetailsButton isStale={status.stale} />}>
        <PaymentMethods status={status} onChanged={onChanged} />
      </Card>
      <Card title={`Usage in ${formatMonth(status.usage.month)}`}>
        <MonthUsage status={status} />
      </Card>
      {isOwner && (
        <Card title="Credit and promo codes">
          <PromoCode status={status} onChanged={onChanged} />
        </Card>
      )}
      <Card title="Invoices">
        <Invoices status={status} />
      </Card>
    </>
  );
}

function StatusPoller({ onRead }: { readonly onRead: (status: BillingStatus) => void }) {
  usePoll(async (abort) => {
    onRead(await getBillingStatus(abort));
    return 'idle';
  }, []);
  return null;
}

/** Shows a toast when a payment made at the provider arrives. */
function usePaymentArrivalToast({ pending_upgrade: pending, subscription_tier: tier }: BillingStatus): void {
  const [awaitedTier, setAwaitedTier] = useState<BillingStatus['subscription_tier'] | null>(null);
  useEffect(() => {
    if (awaitedTier !== null && pending === null && tier === awaitedTier)
      showToast(`Payment received. Your plan is now ${tierName(tier)}.`);
    setAwaitedTier(pending?.tier ?? null);
  }, [pending?.tier, tier]);
}

const staleNoticeId = 'billing-stale';

function StaleNotice({
  readAt,
  onRetry,
}: {
  readonly readAt: BillingStatus['read_at'];
  readonly onRetry: () => void;
}) {
  return (
    <div class="note warning row between" role="status" id={staleNoticeId}>
      <div>
        <strong>The payment provider is not responding.</strong>{' '}
        {readAt === null
          ? 'This page may be out of date.'
          : `This page shows the state of ${formatDateTime(readAt)}.`}{' '}
        Your plan and limits stay unchanged. You can make changes again when the provider responds.
      </div>
      <Button onClick={onRetry}>Retry</Button>
    </div>
  );
}

function MonthUsage({
  status: { usage, usage_pricing: prices, currency },
}: Pick<BillingSectionProps, 'status'>) {
  const rates = [
    ['embedding', prices.embed_per_million_tokens_cents],
    ['reranking', prices.rerank_per_million_tokens_cents],
  ] as const;
  const known = rates.flatMap(([label, cents]) =>
    cents === null ? [] : [`${label} ${formatMoney(cents, prices.currency)}`],
  );
  return (
    <>
      <dl class="figures">
        {usageFigures(usage).map(([label, amount]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class="amount">{formatMoney(amount, currency)}</dd>
          </div>
        ))}
      </dl>
      <p class="hint apart-row">
        {known.length > 0 && `Price per million tokens: ${known.join(', ')}. `}
        Plan payments cover usage of the same month. Only usage beyond them is charged.
      </p>
    </>
  );
}

/** Opens a page of the payment provider, which redirects back here. */
function redirectTo(url: string | undefined): void {
  if (url !== undefined) window.location.assign(url);
}

function EditDetailsButton({ isStale }: { readonly isStale: boolean }) {
  const open = useAsyncAction(async () => {
    try {
      redirectTo((await createBillingPortalSession()).url);
    } catch (error) {
      showToast(errorMessage(error), 'bad');
    }
  });
  return (
    <Button
      busy={open.isBusy}
      disabled={isStale}
      aria-describedby={isStale ? staleNoticeId : undefined}
      onClick={open.start}
    >
      Edit billing details
    </Button>
  );
}

type Method = BillingStatus['payment_methods'][number];

function defaultFirst({ payment_methods: methods }: BillingStatus): readonly Method[] {
  return [...methods].sort((one, other) => Number(other.is_default) - Number(one.is_default));
}

function PaymentMethodSummary({ method }: { readonly method: Method }) {
  const { exp_month: month, exp_year: year } = method;
  return (
    <span class="user-cell">
      <span class="row">
        <strong>{paymentMethodName(method)}</strong>
        {method.is_default && <Chip tone="info">Default</Chip>}
      </span>
      {month !== null && year !== null && (
        <span class="hint">{`Expires ${String(month).padStart(2, '0')}/${year}`}</span>
      )}
    </span>
  );
}

function PaymentMethods({ status, onChanged }: BillingSectionProps) {
  const isOwner = hasRole('OWNER');
  const [methodToRemove, setMethodToRemove] = useState<Method | null>(null);
  const add = useAsyncAction(async () => redirectTo((await addPaymentMethod()).url));
  const disabledProps = {
    disabled: status.stale,
    'aria-describedby': status.stale ? staleNoticeId : undefined,
  };
  return (
    <>
      {status.payment_methods.length === 0 ? (
        <p class="muted">
          {isOwner
            ? 'No payment methods yet. Card data is entered on a page of the payment provider and never reaches this server.'
            : 'No payment methods yet.'}
        </p>
      ) : (
        <ul class="methods">
          {defaultFirst(status).map((method) => (
            <li key={method.id}>
              <PaymentMethodSummary method={method} />
              {isOwner && (
                <Button
                  tone="ghost"
                  aria-label={`Remove ${paymentMethodName(method)}`}
                  {...disabledProps}
                  onClick={() => setMethodToRemove(method)}
                >
                  Remove
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      <ErrorMessage error={add.error} />
      {isOwner && (
        <div class="row apart-row">
          <Button busy={add.isBusy} {...disabledProps} onClick={add.start}>
            Add a payment method
          </Button>
        </div>
      )}
      {methodToRemove !== null && (
        <ConfirmDialog
          title={`Remove ${paymentMethodName(methodToRemove)}?`}
          action="Remove"
          onClose={() => setMethodToRemove(null)}
          onConfirm={async () => {
            await removePaymentMethod(methodToRemove.id);
            showToast(`${paymentMethodName(methodToRemove)} was removed.`);
            onChanged();
          }}
        >
          <p>
            {methodToRemove.is_default && status.payment_methods.length > 1
              ? 'This is the default payment method. Another payment method in the list becomes the default.'
              : 'It will not be charged again.'}
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function PromoCode({ status, onChanged }: BillingSectionProps) {
  const [code, setCode] = useState('');
  const redeem = useAsyncAction(async () => {
    const { credit_cents: credit, currency } = await redeemCode(code.trim());
    showToast(`Credit of ${formatMoney(credit, currency)} added.`);
    setCode('');
    onChanged();
  });
  const isRejected = redeem.error instanceof ApiError && redeem.error.status === 400;
  return (
    <>
      <dl class="figures">
        <div>
          <dt>Remaining credit</dt>
          <dd class="amount">{formatMoney(status.credit_balance_cents, status.currency)}</dd>
        </div>
      </dl>
      <form
        class="inline-form apart-row"
        onSubmit={(event) => {
          event.preventDefault();
          redeem.start();
        }}
      >
        <TextField
          label="Promo code"
          hint="The credit applies to your next invoices."
          error={isRejected ? errorMessage(redeem.error) : null}
          required
          autoComplete="off"
          spellcheck={false}
          maxLength={500}
          value={code}
          onChange={setCode}
        />
        {!isRejected && <ErrorMessage error={redeem.error} />}
        <Button
          type="submit"
          busy={redeem.isBusy}
          disabled={status.stale}
          aria-describedby={status.stale ? staleNoticeId : undefined}
        >
          Redeem
        </Button>
      </form>
    </>
  );
}

type Invoice = BillingStatus['invoices'][number];

const invoiceStates: Readonly<Record<string, readonly [ChipTone, string]>> = {
  draft: ['neutral', 'Draft'],
  open: ['warning', 'Open'],
  paid: ['good', 'Paid'],
  void: ['neutral', 'Void'],
  uncollectible: ['bad', 'Uncollectible'],
};

function InvoiceState({ status }: Pick<Invoice, 'status'>) {
  const [tone, label] = invoiceStates[status ?? ''] ?? (['neutral', status ?? ''] as const);
  return <Chip tone={tone}>{label}</Chip>;
}

function InvoiceLinks({ number, status, hosted_invoice_url: hostedUrl, invoice_pdf: pdfUrl }: Invoice) {
  const name = number ?? 'draft';
  return (
    <span class="row end">
      {hostedUrl !== null && (
        <a
          href={hostedUrl}
          target="_blank"
          rel="noreferrer"
          aria-label={`${status === 'open' ? 'Pay' : 'View'} ${name}`}
        >
          {status === 'open' ? 'Pay' : 'View'}
        </a>
      )}
      {pdfUrl !== null && (
        <a href={pdfUrl} target="_blank" rel="noreferrer" aria-label={`${name} as PDF`}>
          PDF
        </a>
      )}
    </span>
  );
}

const invoiceColumns: readonly TableColumn<Invoice>[] = [
  { title: 'Invoice', cell: ({ number }) => <strong>{number ?? 'Draft'}</strong> },
  { title: 'Date', cell: ({ created_at }) => formatDate(created_at) },
  { title: 'Status', cell: InvoiceState },
  { title: 'Amount', isNumber: true, cell: ({ amount_due, currency }) => formatMoney(amount_due, currency) },
  { title: 'Actions', isActions: true, cell: InvoiceLinks },
];

function Invoices({ status: { invoices } }: Pick<BillingSectionProps, 'status'>) {
  if (invoices.length === 0) return <p class="muted">No invoices yet.</p>;
  return <Table caption="Invoices" columns={invoiceColumns} rows={invoices} keyOf={({ id }) => id} />;
}
