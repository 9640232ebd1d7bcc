import { cardOfCustomer } from './cards.ts';
import { completeSession } from './payment-methods.ts';
import { Refusal } from './refusal.ts';
import { collectAndReact } from './subscription-life.ts';
import type { World } from './world.ts';

/** The pages that Stripe shows to customers, for a browser and for a test that posts what a person would click. */

export interface PageAnswer {
  readonly status: number;
  readonly html: string;
  /** Where the browser goes on. */
  readonly location?: string;
}

export function page(world: World, method: string, path: string, form: URLSearchParams): PageAnswer | null {
  const [, kind, id = ''] = path.split('/');
  try {
    switch (kind) {
      case 'pay':
        return method === 'POST' ? payInvoice(world, id, form) : showInvoice(world, id);
      case 'checkout':
        return method === 'POST' ? checkOut(world, id, form) : showCheckout(world, id);
      case 'portal':
        return showPortal(world, id);
      case 'v1':
        return null;
      default:
        return html(404, '<h1>There is no such page</h1>');
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return html(error.status, `<p>${error.message}</p>`);
  }
}

function html(status: number, body: string): PageAnswer {
  return {
    status,
    html: `<!doctype html><meta charset="utf-8"><title>Emulated Stripe</title><link rel="icon" href="data:,"><main>${body}</main>`,
  };
}

function showInvoice(world: World, id: string): PageAnswer {
  const invoice = world.get('invoice', id);
  const sum = `${(invoice.amount_remaining / 100).toFixed(2)} ${invoice.currency}`;
  if (invoice.status !== 'open') return html(200, `<h1>Invoice ${invoice.number}: ${invoice.status}</h1>`);
  const form =
    '<form method="post"><input name="card" placeholder="pm_card_visa, or empty for the card on file"><button>Pay</button></form>';
  return html(200, `<h1>Invoice ${invoice.number}</h1><p>${sum}</p>${form}`);
}

/** The customer is there, so authentication succeeds; `card` is another card than the one on file. */
function payInvoice(world: World, id: string, form: URLSearchParams): PageAnswer {
  const invoice = world.get('invoice', id);
  if (invoice.status !== 'open') return html(409, `<h1>Invoice ${invoice.number}: ${invoice.status}</h1>`);
  const named = form.get('card') ?? '';
  const customer = world.get('customer', invoice.customer);
  const intent = world.all('invoice_payment').find((one) => one.invoice === id)?.payment.payment_intent;
  const tried = intent === undefined ? null : world.get('payment_intent', intent).payment_method;
  const method = named === '' ? tried : cardOfCustomer(world, named, customer).id;
  const how = method === null ? { authenticated: true } : { method, authenticated: true };
  const outcome = collectAndReact(world, invoice, how);
  return html(outcome === 'paid' ? 200 : 402, `<h1>Invoice ${invoice.number}: ${outcome}</h1>`);
}

function showCheckout(world: World, id: string): PageAnswer {
  const session = world.get('checkout.session', id);
  const form =
    '<form method="post"><input name="card" value="pm_card_visa"><button>Save card</button></form>';
  return html(200, `<h1>Add a card: ${session.status}</h1>${session.status === 'open' ? form : ''}`);
}

function checkOut(world: World, id: string, form: URLSearchParams): PageAnswer {
  const session = world.get('checkout.session', id);
  completeSession(world, session, form.get('card') ?? 'pm_card_visa');
  const location = session.success_url?.replace('{CHECKOUT_SESSION_ID}', id);
  return location === undefined ? html(200, '<h1>Saved</h1>') : { ...html(303, ''), location };
}

function showPortal(world: World, id: string): PageAnswer {
  const session = world.get('billing_portal.session', id);
  const customer = world.get('customer', session.customer);
  return html(200, `<h1>Billing details of ${customer.name ?? customer.email ?? customer.id}</h1>`);
}
