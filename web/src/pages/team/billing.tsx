import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Chip, type ChipTone, Tag } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { TextField } from '../../components/text-field.tsx';
import { planTopic, showToast } from '../../components/toasts.tsx';
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
import { texts } from '../../texts/en/billing.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import { paymentMethodName } from './payment-method-name.ts';
import { staleNoticeId } from './plan-notices.tsx';
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
    <Page title={texts.billing} subtitle={organization.value?.name}>
      {!isManager ? (
        <EmptyState title={texts.ownersAndAdminsOnly}>{texts.ownersAndAdminsCanView}</EmptyState>
      ) : found ? (
        found.billing_enabled ? (
          <Billing status={found} onChanged={status.reload} onRead={status.replace} />
        ) : (
          <EmptyState title={texts.billingIsDisabled}>{texts.thisServerDoesNotAccept}</EmptyState>
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
      <Card title={texts.paymentMethods} actions={isOwner && <EditDetailsButton isStale={status.stale} />}>
        <PaymentMethods status={status} onChanged={onChanged} />
      </Card>
      <Card title={fill(texts.usageInMonth, { month: formatMonth(status.usage.month) })}>
        <MonthUsage status={status} />
      </Card>
      {isOwner && (
        <Card title={texts.creditAndPromoCodes}>
          <PromoCode status={status} onChanged={onChanged} />
        </Card>
      )}
      <Card title={texts.invoices}>
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
      showToast(fill(texts.paymentReceivedYourPlanIs, { tier: tierName(tier) }), 'good', planTopic);
    setAwaitedTier(pending?.tier ?? null);
  }, [pending?.tier, tier]);
}

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
        {rich(texts.thePaymentProviderIsNot, {
          strong: (children) => <strong>{children}</strong>,
          state:
            readAt === null
              ? texts.thisPageMayBeOut
              : fill(texts.thisPageShowsTheState, { readAt: formatDateTime(readAt) }),
        })}
      </div>
      <Button onClick={onRetry}>{texts.retry}</Button>
    </div>
  );
}

function MonthUsage({
  status: { usage, usage_pricing: prices, currency },
}: Pick<BillingSectionProps, 'status'>) {
  const rates = [
    [texts.embedding, prices.embed_per_million_tokens_cents],
    [texts.reranking, prices.rerank_per_million_tokens_cents],
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
        {known.length > 0 && fill(texts.pricePerMillionTokensKnown, { known: known.join(', ') })}
        {texts.planPaymentsCoverUsageOf}
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
      {texts.editBillingDetails}
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
        {method.is_default && <Tag tone="info">{texts.default}</Tag>}
      </span>
      {month !== null && year !== null && (
        <span class="hint">
          {fill(texts.expiresStateYear, { state: String(month).padStart(2, '0'), year })}
        </span>
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
        <p class="muted">{isOwner ? texts.noPaymentMethodsYetCard : texts.noPaymentMethodsYet}</p>
      ) : (
        <ul class="methods">
          {defaultFirst(status).map((method) => (
            <li key={method.id}>
              <PaymentMethodSummary method={method} />
              {isOwner && (
                <Button
                  tone="ghost"
                  class="destructive"
                  aria-label={fill(texts.removeMethod, { method: paymentMethodName(method) })}
                  {...disabledProps}
                  onClick={() => setMethodToRemove(method)}
                >
                  {texts.remove}
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
            {texts.addAPaymentMethod}
          </Button>
        </div>
      )}
      {methodToRemove !== null && (
        <ConfirmDialog
          title={fill(texts.removeMethodToRemove, { methodToRemove: paymentMethodName(methodToRemove) })}
          action={texts.remove}
          onClose={() => setMethodToRemove(null)}
          onConfirm={async () => {
            await removePaymentMethod(methodToRemove.id);
            showToast(
              fill(texts.methodToRemoveWasRemoved, { methodToRemove: paymentMethodName(methodToRemove) }),
            );
            onChanged();
          }}
        >
          <p>
            {methodToRemove.is_default && status.payment_methods.length > 1
              ? texts.thisIsTheDefaultPayment
              : texts.itWillNotBeCharged}
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
    showToast(fill(texts.creditOfCreditAdded, { credit: formatMoney(credit, currency) }));
    setCode('');
    onChanged();
  });
  const isRejected = redeem.error instanceof ApiError && redeem.error.status === 400;
  return (
    <>
      <dl class="figures">
        <div>
          <dt>{texts.remainingCredit}</dt>
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
          label={texts.promoCode}
          hint={texts.theCreditAppliesToYour}
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
          {texts.redeem}
        </Button>
      </form>
    </>
  );
}

type Invoice = BillingStatus['invoices'][number];

const invoiceStates: Readonly<Record<string, readonly [ChipTone, string]>> = {
  draft: ['neutral', texts.draft],
  open: ['warning', texts.open],
  paid: ['good', texts.paid],
  void: ['neutral', texts.void],
  uncollectible: ['bad', texts.uncollectible],
};

function InvoiceState({ status }: Pick<Invoice, 'status'>) {
  const [tone, label] = invoiceStates[status ?? ''] ?? (['neutral', status ?? ''] as const);
  return <Chip tone={tone}>{label}</Chip>;
}

function InvoiceLinks({ number, status, hosted_invoice_url: hostedUrl, invoice_pdf: pdfUrl }: Invoice) {
  const name = number ?? texts.draft2;
  return (
    <span class="row end">
      {hostedUrl !== null && (
        <a
          href={hostedUrl}
          target="_blank"
          rel="noreferrer"
          aria-label={status === 'open' ? fill(texts.payName, { name }) : fill(texts.viewName, { name })}
        >
          {status === 'open' ? texts.pay : texts.view}
        </a>
      )}
      {pdfUrl !== null && (
        <a href={pdfUrl} target="_blank" rel="noreferrer" aria-label={fill(texts.nameAsPdf, { name })}>
          {texts.pdf}
        </a>
      )}
    </span>
  );
}

const invoiceColumns: readonly TableColumn<Invoice>[] = [
  { title: texts.invoice, cell: ({ number }) => <strong>{number ?? texts.draft}</strong> },
  { title: texts.date, cell: ({ created_at }) => formatDate(created_at) },
  { title: texts.status, cell: InvoiceState },
  {
    title: texts.amount,
    isNumber: true,
    cell: ({ amount_due, currency }) => formatMoney(amount_due, currency),
  },
  { title: texts.actions, isActions: true, cell: InvoiceLinks },
];

function Invoices({ status: { invoices } }: Pick<BillingSectionProps, 'status'>) {
  if (invoices.length === 0) return <p class="muted">{texts.noInvoicesYet}</p>;
  return <Table caption={texts.invoices} columns={invoiceColumns} rows={invoices} keyOf={({ id }) => id} />;
}
