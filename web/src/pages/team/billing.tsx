import { useEffect, useState } from 'preact/hooks';
import { Blank } from '../../parts/blank.tsx';
import { Button } from '../../parts/button.tsx';
import { Chip, type Tone } from '../../parts/chip.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Field } from '../../parts/field.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { toast } from '../../parts/toasts.tsx';
import { NotLoaded, Trouble } from '../../parts/trouble.tsx';
import {
  addPaymentMethod,
  billingDetails,
  getBilling,
  redeemCode,
  removePaymentMethod,
  type Status,
} from '../../server/billing.ts';
import { CallError, sentenceOf } from '../../server/call.ts';
import { useDoing } from '../../server/doing.ts';
import { useLoad, usePoll } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { money } from '../../words/money.ts';
import { day, exact, month } from '../../words/times.ts';
import { methodName } from './payment-words.ts';
import { Plans } from './plans.tsx';
import { mayAs } from './roles.tsx';
import { tierName } from './tiers.ts';

/** What the organisation pays, and with what. */
export function BillingPage() {
  const isManager = mayAs('ADMIN');
  const status = useLoad(
    async (abort) => (isManager ? getBilling(abort) : null),
    [organization.value?.organization_id, isManager],
  );
  const found = status.data;
  return (
    <Page title="Billing" lead={organization.value?.name}>
      {!isManager ? (
        <Blank title="For owners and admins">They see plans and invoices; owners change them.</Blank>
      ) : found ? (
        found.billing_enabled ? (
          <Billing status={found} onChanged={status.reload} onRead={status.replace} />
        ) : (
          <Blank title="Billing is off">
            This server takes no payments. Its administrator sets tiers and limits.
          </Blank>
        )
      ) : status.error === null ? (
        <SkeletonRows rows={8} />
      ) : (
        <NotLoaded error={status.error} onRetry={status.reload} />
      )}
    </Page>
  );
}

interface PartProps {
  readonly status: Status;
  readonly onChanged: () => void;
}

/** What will be seen here without anybody doing anything: a payment elsewhere, or the provider coming back. */
function waitsForSomething({ stale, pending_upgrade: up, invoices }: Status): boolean {
  return stale || up !== null || invoices.some(({ status }) => status === 'open');
}

function Billing({ status, onChanged, onRead }: PartProps & { readonly onRead: (status: Status) => void }) {
  const owns = mayAs('OWNER');
  useArrival(status);
  return (
    <>
      {waitsForSomething(status) && <Watch onRead={onRead} />}
      {status.stale && <Stale readAt={status.read_at} onRetry={onChanged} />}
      <Plans status={status} onChanged={onChanged} />
      <Card title="How you pay" actions={owns && <Details isStale={status.stale} />}>
        <PaymentMethods status={status} onChanged={onChanged} />
      </Card>
      <Card title={`Usage in ${month(status.usage.month)}`}>
        <Month status={status} />
      </Card>
      {owns && (
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

function Watch({ onRead }: { readonly onRead: (status: Status) => void }) {
  usePoll(async (abort) => {
    onRead(await getBilling(abort));
    return 'idle';
  }, []);
  return null;
}

/** Says that a payment which was made at the provider has arrived. */
function useArrival({ pending_upgrade: pending, subscription_tier: tier }: Status): void {
  const [awaited, setAwaited] = useState<Status['subscription_tier'] | null>(null);
  useEffect(() => {
    if (awaited !== null && pending === null && tier === awaited)
      toast(`The payment arrived: you have the plan ${tierName(tier)} now.`);
    setAwaited(pending?.tier ?? null);
  }, [pending?.tier, tier]);
}

const staleNote = 'billing-stale';

function Stale({ readAt, onRetry }: { readonly readAt: Status['read_at']; readonly onRetry: () => void }) {
  return (
    <div class="note warning row between" role="status" id={staleNote}>
      <div>
        <strong>The payment provider does not answer.</strong>{' '}
        {readAt === null ? 'What you see may be old.' : `You see how it was on ${exact(readAt)}.`} Your plan
        and its limits stay as they are; changes wait until it answers.
      </div>
      <Button onClick={onRetry}>Try again</Button>
    </div>
  );
}

function Month({ status: { usage, usage_pricing: prices, currency } }: Pick<PartProps, 'status'>) {
  const figures: readonly (readonly [string, number])[] = [
    ['Used', usage.charges_cents],
    ['Paid with the plan', Math.max(0, usage.charges_cents - usage.invoiced_cents - usage.billable_cents)],
    ...(usage.invoiced_cents > 0 ? ([['Invoiced already', usage.invoiced_cents]] as const) : []),
    ['To pay on top', usage.billable_cents],
  ];
  const rates = [
    ['embedding', prices.embed_per_million_tokens_cents],
    ['reranking', prices.rerank_per_million_tokens_cents],
  ] as const;
  const known = rates.flatMap(([what, cents]) =>
    cents === null ? [] : [`${what} ${money(cents, prices.currency)}`],
  );
  return (
    <>
      <dl class="figures">
        {figures.map(([what, amount]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd class="amount">{money(amount, currency)}</dd>
          </div>
        ))}
      </dl>
      {known.length > 0 && (
        <p class="hint apart-row">{`A million tokens cost: ${known.join(', ')}. What you pay for the plan in a month counts towards the usage of that month.`}</p>
      )}
    </>
  );
}

/** Leads to a page of the payment provider, which leads back here. */
function leave(url: string | undefined): void {
  if (url !== undefined) window.location.assign(url);
}

function Details({ isStale }: { readonly isStale: boolean }) {
  const open = useDoing(async () => {
    try {
      leave((await billingDetails()).url);
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
  });
  return (
    <Button
      busy={open.isBusy}
      disabled={isStale}
      aria-describedby={isStale ? staleNote : undefined}
      onClick={open.start}
    >
      Edit name, address and tax ids
    </Button>
  );
}

type Method = Status['payment_methods'][number];

function defaultFirst({ payment_methods: methods }: Status): readonly Method[] {
  return [...methods].sort((one, other) => Number(other.is_default) - Number(one.is_default));
}

function MethodFacts({ method }: { readonly method: Method }) {
  const { exp_month: month, exp_year: year } = method;
  return (
    <span class="person">
      <span class="row">
        <strong>{methodName(method)}</strong>
        {method.is_default && <Chip tone="info">Default</Chip>}
      </span>
      {month !== null && year !== null && (
        <span class="hint">{`Expires ${String(month).padStart(2, '0')}/${year}`}</span>
      )}
    </span>
  );
}

function PaymentMethods({ status, onChanged }: PartProps) {
  const owns = mayAs('OWNER');
  const [asked, setAsked] = useState<Method | null>(null);
  const add = useDoing(async () => leave((await addPaymentMethod()).url));
  const held = { disabled: status.stale, 'aria-describedby': status.stale ? staleNote : undefined };
  return (
    <>
      {status.payment_methods.length === 0 ? (
        <p class="soft">
          {owns
            ? 'There is no payment method yet. Cards are typed into a page of the payment provider; no number ever reaches this server.'
            : 'There is no payment method yet.'}
        </p>
      ) : (
        <ul class="methods">
          {defaultFirst(status).map((method) => (
            <li key={method.id}>
              <MethodFacts method={method} />
              {owns && (
                <Button
                  tone="ghost"
                  aria-label={`Remove ${methodName(method)}`}
                  {...held}
                  onClick={() => setAsked(method)}
                >
                  Remove
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      <Trouble error={add.error} />
      {owns && (
        <div class="row apart-row">
          <Button busy={add.isBusy} {...held} onClick={add.start}>
            Add a payment method
          </Button>
        </div>
      )}
      {asked !== null && (
        <Confirm
          title={`Remove ${methodName(asked)}?`}
          action="Remove"
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            await removePaymentMethod(asked.id);
            toast(`${methodName(asked)} was removed.`);
            onChanged();
          }}
        >
          <p>
            {asked.is_default && status.payment_methods.length > 1
              ? 'Invoices are charged to it; from now on another one of the list is charged.'
              : 'It is charged for nothing more.'}
          </p>
        </Confirm>
      )}
    </>
  );
}

function PromoCode({ status, onChanged }: PartProps) {
  const [code, setCode] = useState('');
  const redeem = useDoing(async () => {
    const { credit_cents: credit, currency } = await redeemCode(code.trim());
    toast(`The code added ${money(credit, currency)} of credit.`);
    setCode('');
    onChanged();
  });
  const refused = redeem.error instanceof CallError && redeem.error.status === 400;
  return (
    <>
      <dl class="figures">
        <div>
          <dt>Credit left</dt>
          <dd class="amount">{money(status.credit_balance_cents, status.currency)}</dd>
        </div>
      </dl>
      <form
        class="inline-form apart-row"
        onSubmit={(event) => {
          event.preventDefault();
          redeem.start();
        }}
      >
        <Field
          label="Promo code"
          hint="Its credit pays the next invoices."
          error={refused ? sentenceOf(redeem.error) : null}
        >
          {(control) => (
            <input
              {...control}
              type="text"
              required
              autoComplete="off"
              spellcheck={false}
              maxLength={500}
              value={code}
              onInput={(event) => setCode(event.currentTarget.value)}
            />
          )}
        </Field>
        {!refused && <Trouble error={redeem.error} />}
        <Button
          type="submit"
          busy={redeem.isBusy}
          disabled={status.stale}
          aria-describedby={status.stale ? staleNote : undefined}
        >
          Redeem
        </Button>
      </form>
    </>
  );
}

type Invoice = Status['invoices'][number];

const invoiceStates: Readonly<Record<string, readonly [Tone, string]>> = {
  draft: ['neutral', 'Draft'],
  open: ['warning', 'To pay'],
  paid: ['good', 'Paid'],
  void: ['neutral', 'Void'],
  uncollectible: ['bad', 'Not collected'],
};

function InvoiceState({ status }: Pick<Invoice, 'status'>) {
  const [tone, words] = invoiceStates[status ?? ''] ?? (['neutral', status ?? ''] as const);
  return <Chip tone={tone}>{words}</Chip>;
}

function InvoiceLinks({ number, status, hosted_invoice_url: shown, invoice_pdf: file }: Invoice) {
  const name = number ?? 'the draft';
  return (
    <span class="row end">
      {shown !== null && (
        <a
          href={shown}
          target="_blank"
          rel="noreferrer"
          aria-label={`${status === 'open' ? 'Pay' : 'View'} ${name}`}
        >
          {status === 'open' ? 'Pay' : 'View'}
        </a>
      )}
      {file !== null && (
        <a href={file} target="_blank" rel="noreferrer" aria-label={`${name} as PDF`}>
          PDF
        </a>
      )}
    </span>
  );
}

const invoiceColumns: readonly Column<Invoice>[] = [
  { title: 'Invoice', cell: ({ number }) => <strong>{number ?? 'Draft'}</strong> },
  { title: 'Date', cell: ({ created_at }) => day(created_at) },
  { title: 'State', cell: InvoiceState },
  { title: 'Amount', isNumber: true, cell: ({ amount_due, currency }) => money(amount_due, currency) },
  { title: 'Actions', isActions: true, cell: InvoiceLinks },
];

function Invoices({ status: { invoices } }: Pick<PartProps, 'status'>) {
  if (invoices.length === 0) return <p class="soft">There are no invoices yet.</p>;
  return <Table caption="Invoices" columns={invoiceColumns} rows={invoices} keyOf={({ id }) => id} />;
}
