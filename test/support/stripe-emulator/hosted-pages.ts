import { customerCard } from './cards.ts';
import { completeCheckoutSession } from './payment-methods.ts';
import { StripeApiError } from './stripe-error.ts';
import type { StripeState } from './stripe-state.ts';
import { collectAndUpdate } from './subscription-lifecycle.ts';

/** Customer-facing pages hosted by Stripe, for a browser and for tests that post the form of a page. */

export interface PageReply {
  readonly status: number;
  readonly html: string;
  /** Target of the redirect. */
  readonly location?: string;
}

export function hostedPage(
  state: StripeState,
  method: string,
  path: string,
  form: URLSearchParams,
): PageReply | null {
  const [, kind, id = ''] = path.split('/');
  try {
    switch (kind) {
      case 'pay':
        return method === 'POST' ? payInvoice(state, id, form) : showInvoice(state, id);
      case 'checkout':
        return method === 'POST' ? checkOut(state, id, form) : showCheckout(state, id);
      case 'portal':
        return showPortal(state, id);
      case 'v1':
        return null;
      default:
        return htmlReply(404, '<h1>There is no such page</h1>');
    }
  } catch (error) {
    if (!(error instanceof StripeApiError)) throw error;
    return htmlReply(error.status, `<p>${error.message}</p>`);
  }
}

function htmlReply(status: number, body: string): PageReply {
  return {
    status,
    html: `<!doctype html><meta charset="utf-8"><title>Emulated Stripe</title><link rel="icon" href="data:,"><main>${body}</main>`,
  };
}

function showInvoice(state: StripeState, id: string): PageReply {
  const invoice = state.get('invoice', id);
  const sum = `${(invoice.amount_remaining / 100).toFixed(2)} ${invoice.currency}`;
  if (invoice.status !== 'open')
    return htmlReply(200, `<h1>Invoice ${invoice.number}: ${invoice.status}</h1>`);
  const form =
    '<form method="post"><input name="card" placeholder="pm_card_visa, or empty for the card on file"><button>Pay</button></form>';
  return htmlReply(200, `<h1>Invoice ${invoice.number}</h1><p>${sum}</p>${form}`);
}

/** The customer is present, so authentication succeeds; `card` replaces the card on file. */
function payInvoice(state: StripeState, id: string, form: URLSearchParams): PageReply {
  const invoice = state.get('invoice', id);
  if (invoice.status !== 'open')
    return htmlReply(409, `<h1>Invoice ${invoice.number}: ${invoice.status}</h1>`);
  const named = form.get('card') ?? '';
  const customer = state.get('customer', invoice.customer);
  const intent = state.listObjects('invoice_payment').find((one) => one.invoice === id)
    ?.payment.payment_intent;
  const tried = intent === undefined ? null : state.get('payment_intent', intent).payment_method;
  const method = named === '' ? tried : customerCard(state, named, customer).id;
  const how = method === null ? { isAuthenticated: true } : { method, isAuthenticated: true };
  const outcome = collectAndUpdate(state, invoice, how);
  return htmlReply(outcome === 'paid' ? 200 : 402, `<h1>Invoice ${invoice.number}: ${outcome}</h1>`);
}

function showCheckout(state: StripeState, id: string): PageReply {
  const session = state.get('checkout.session', id);
  const form =
    '<form method="post"><input name="card" value="pm_card_visa"><button>Save card</button></form>';
  return htmlReply(200, `<h1>Add a card: ${session.status}</h1>${session.status === 'open' ? form : ''}`);
}

function checkOut(state: StripeState, id: string, form: URLSearchParams): PageReply {
  const session = state.get('checkout.session', id);
  completeCheckoutSession(state, session, form.get('card') ?? 'pm_card_visa');
  const location = session.success_url?.replace('{CHECKOUT_SESSION_ID}', id);
  return location === undefined ? htmlReply(200, '<h1>Saved</h1>') : { ...htmlReply(303, ''), location };
}

function showPortal(state: StripeState, id: string): PageReply {
  const session = state.get('billing_portal.session', id);
  const customer = state.get('customer', session.customer);
  return htmlReply(200, `<h1>Billing details of ${customer.name ?? customer.email ?? customer.id}</h1>`);
}
