import { useState } from 'preact/hooks';
import { Blank } from '../../parts/blank.tsx';
import { Button } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
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
import { sentenceOf } from '../../server/call.ts';
import { useDoing } from '../../server/doing.ts';
import { useLoad } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { money } from '../../words/money.ts';
import { day } from '../../words/times.ts';
import { Plans } from './plans.tsx';
import { mayAs } from './roles.tsx';

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
          <Billing status={found} onChanged={status.reload} />
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

function Billing({ status, onChanged }: PartProps) {
  const owns = mayAs('OWNER');
  return (
    <>
      {status.stale && (
        <p class="note" role="status">
          The payment provider does not answer just now. This is how it was
          {status.read_at === null ? '.' : ` on ${day(status.read_at)}.`}
        </p>
      )}
      <Plans status={status} onChanged={onChanged} />
      <Card title="This month">
        <Month status={status} />
      </Card>
      <Card title="How you pay" actions={owns && <Details />}>
        <PaymentMethods status={status} onChanged={onChanged} />
      </Card>
      {owns && (
        <Card title="Promo code">
          <PromoCode onChanged={onChanged} />
        </Card>
      )}
      <Card title="Invoices">
        <Invoices status={status} />
      </Card>
    </>
  );
}

function Month({ status: { usage, currency, credit_balance_cents: credit } }: Pick<PartProps, 'status'>) {
  const figures: readonly (readonly [string, number])[] = [
    ['Used', usage.charges_cents],
    ['Covered by the plan', Math.min(usage.charges_cents, usage.subscription_payments_cents)],
    ['To pay beside the plan', usage.billable_cents],
    ['Credit left', credit],
  ];
  return (
    <dl class="figures">
      {figures.map(([what, amount]) => (
        <div key={what}>
          <dt>{what}</dt>
          <dd class="amount">{money(amount, currency)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Leads to a page of the payment provider. */
function leave(url: string | undefined): void {
  if (url !== undefined) window.location.assign(url);
}

function Details() {
  const open = useDoing(async () => leave((await billingDetails()).url));
  return (
    <>
      <Button busy={open.isBusy} onClick={open.start}>
        Edit name, address and tax ids
      </Button>
      <Trouble error={open.error} />
    </>
  );
}

function PaymentMethods({ status, onChanged }: PartProps) {
  const owns = mayAs('OWNER');
  const add = useDoing(async () => leave((await addPaymentMethod()).url));
  const remove = async (id: string) => {
    try {
      await removePaymentMethod(id);
      toast('The payment method was removed.');
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
    onChanged();
  };
  return (
    <>
      {status.payment_methods.length === 0 && <p class="soft">There is no payment method yet.</p>}
      <ul class="invitations">
        {status.payment_methods.map((method) => (
          <li key={method.id}>
            <span>
              <strong>{`${method.brand ?? method.type} ${method.last4 === null ? '' : `•••• ${method.last4}`}`}</strong>{' '}
              {method.is_default && <Chip tone="good">Charged</Chip>}
              {method.exp_month !== null && (
                <span class="hint">{` until ${method.exp_month}/${method.exp_year}`}</span>
              )}
            </span>
            {owns && (
              <Button
                tone="ghost"
                aria-label={`Remove ${method.brand ?? method.type} ${method.last4 ?? ''}`}
                onClick={() => void remove(method.id)}
              >
                Remove
              </Button>
            )}
          </li>
        ))}
      </ul>
      <Trouble error={add.error} />
      {owns && (
        <div class="row apart-row">
          <Button busy={add.isBusy} onClick={add.start}>
            Add a payment method
          </Button>
        </div>
      )}
    </>
  );
}

function PromoCode({ onChanged }: Pick<PartProps, 'onChanged'>) {
  const [code, setCode] = useState('');
  const redeem = useDoing(async () => {
    const { credit_cents: credit, currency } = await redeemCode(code.trim());
    toast(`${money(credit, currency)} of credit were added.`);
    setCode('');
    onChanged();
  });
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        redeem.start();
      }}
    >
      <Field label="Code">
        {(control) => (
          <input
            {...control}
            type="text"
            required
            autoComplete="off"
            value={code}
            onInput={(event) => setCode(event.currentTarget.value)}
          />
        )}
      </Field>
      <Trouble error={redeem.error} />
      <Button type="submit" busy={redeem.isBusy}>
        Redeem
      </Button>
    </form>
  );
}

type Invoice = Status['invoices'][number];

function Invoices({ status: { invoices } }: Pick<PartProps, 'status'>) {
  if (invoices.length === 0) return <p class="soft">There are no invoices yet.</p>;
  const columns: Column<Invoice>[] = [
    { title: 'Invoice', cell: ({ number }) => number ?? 'Draft' },
    { title: 'Date', cell: ({ created_at }) => day(created_at) },
    {
      title: 'State',
      cell: ({ status }) => <Chip tone={status === 'paid' ? 'good' : 'neutral'}>{status ?? ''}</Chip>,
    },
    { title: 'Amount', isNumber: true, cell: ({ amount_due, currency }) => money(amount_due, currency) },
    {
      title: 'Open',
      isNumber: true,
      cell: ({ number, invoice_pdf, hosted_invoice_url, status }) => {
        const address = status === 'open' ? hosted_invoice_url : (invoice_pdf ?? hosted_invoice_url);
        return (
          address !== null && (
            <a href={address} target="_blank" rel="noreferrer" aria-label={`Invoice ${number ?? ''}`}>
              {status === 'open' ? 'Pay' : 'PDF'}
            </a>
          )
        );
      },
    },
  ];
  return <Table caption="Invoices" columns={columns} rows={invoices} keyOf={({ id }) => id} />;
}
