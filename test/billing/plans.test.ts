import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { computeCharge, loadPlans, parsePlans, toPricePerToken } from '../../src/billing/plans.ts';
import { parseReturnUrl } from '../../src/billing/return-url.ts';
import t from '../support/tap.ts';

/** A complete plans file with one part changed. */
function file(change: (plans: ReturnType<typeof completePlans>) => void): unknown {
  const plans = completePlans();
  change(plans);
  return plans;
}

function completePlans() {
  const price = (lookupKey: string, amount: number) => ({ lookupKey, amount, product: 'A product' });
  const metered = (name: string, perMillion: string) => ({
    lookupKey: name,
    meter: name,
    product: 'Tokens',
    perMillion,
  });
  return {
    currency: 'eur',
    tiers: {
      free: { limits: { documentsMax: 10 as number | null } as Record<string, unknown> },
      starter: { price: price('starter', 4_900) },
      teams: { price: price('teams', 19_900) },
      enterprise: {},
    } as Record<string, Record<string, unknown>>,
    metered: { embed: metered('embed', '5'), rerank: metered('rerank', '2.5') } as Record<string, object>,
  };
}

t.test('a plans file defines prices, metered prices and limits', async (t) => {
  t.match(parsePlans(completePlans(), 'plans.json'), {
    currency: 'eur',
    prices: { starter: { lookupKey: 'starter', amount: 4_900 }, teams: { amount: 19_900 } },
    metered: { rerank: { perMillion: '2.5' } },
    limits: { free: { documentsMax: 10 } },
  });
  t.match(
    loadPlans(null),
    { currency: 'usd', prices: { starter: { amount: 5_000 } } },
    'there are plans without one',
  );
});

const faults: readonly (readonly [what: string, content: unknown, errorPattern: RegExp])[] = [
  ['content that is not an object', [], /plans\.json: the file is \[\]; expected an object\./],
  [
    'an unknown field',
    file((p) => Object.assign(p, { taxes: 1 })),
    /the file\.taxes is 1; expected only currency, tiers, metered/,
  ],
  [
    'a currency in capitals',
    file((p) => Object.assign(p, { currency: 'EUR' })),
    /currency is "EUR"; expected a three-letter ISO 4217/,
  ],
  [
    'an unknown currency',
    file((p) => Object.assign(p, { currency: 'xxx' })),
    /plans\.json: currency is "xxx"; expected a three-letter ISO 4217 currency code/,
  ],
  [
    'a higher tier that costs less',
    file((p) => Object.assign(p.tiers.teams!.price as object, { amount: 4_899 })),
    /tiers\.teams\.price\.amount is 4899; expected at least that of starter, which is 4900/,
  ],
  [
    'an unknown tier',
    file((p) => Object.assign(p.tiers, { gold: {} })),
    /tiers\.gold is \{\}; expected only free, starter/,
  ],
  [
    'a price of the free tier',
    file((p) => Object.assign(p.tiers.free!, { price: 1 })),
    /tiers\.free\.price is 1; expected only limits/,
  ],
  [
    'a missing price',
    file((p) => Object.assign(p.tiers, { starter: {} })),
    /tiers\.starter\.price is missing; expected an object/,
  ],
  [
    'a fraction of a cent',
    file((p) => Object.assign(p.tiers.teams!.price as object, { amount: 0.5 })),
    /tiers\.teams\.price\.amount is 0\.5; expected a whole number from 1/,
  ],
  [
    'a number for a decimal',
    file((p) => Object.assign(p.metered.embed!, { perMillion: 5 })),
    /metered\.embed\.perMillion is 5; expected a decimal number as a string/,
  ],
  [
    'a limit of zero',
    file((p) => Object.assign(p.tiers.free!.limits as object, { documentsMax: 0 })),
    /tiers\.free\.limits\.documentsMax is 0; expected a whole number from 1/,
  ],
  [
    'a slow limit below the fast one',
    file((p) => Object.assign(p.tiers.free!, { limits: { bytesPerMinuteFast: 9, bytesPerMinuteSlow: 8 } })),
    /bytesPerMinuteSlow is 8; expected at least bytesPerMinuteFast, which is 9/,
  ],
  [
    'one lookup key for two prices',
    file((p) => Object.assign(p.metered.embed!, { lookupKey: 'starter' })),
    /"starter" is used for two prices/,
  ],
];

for (const [what, content, errorPattern] of faults) {
  t.test(`a plans file with ${what} is rejected with a clear message`, async (t) => {
    t.throws(() => parsePlans(content, 'plans.json'), { code: 'invalid', message: errorPattern });
  });
}

t.test('a plans file that is missing or not JSON is rejected with a clear message', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-plans-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'plans.json');
  t.throws(() => loadPlans(path), { code: 'invalid', message: /cannot be read as JSON: ENOENT/ });
  writeFileSync(path, '{');
  t.throws(() => loadPlans(path), { code: 'invalid', message: /cannot be read as JSON/ });
});

t.test('tokens are charged to the cent, rounded half up, at any quantity', async (t) => {
  const cases: readonly (readonly [tokens: number, perMillion: string, cents: number])[] = [
    [0, '5', 0],
    [99_999, '5', 0],
    [100_000, '5', 1],
    [1_000_000, '5', 5],
    [200_000, '2.5', 1],
    [199_999, '2.5', 0],
    [1, '999999999.999999', 1_000],
    [9_007_199_254_740_991, '0.000001', 9_007],
  ];
  for (const [tokens, perMillion, cents] of cases)
    t.equal(computeCharge(tokens, perMillion), cents, `${tokens} at ${perMillion}`);
  t.same(
    ['5', '2.5', '0.000001', '12345678', '1000000', '0'].map((price) => toPricePerToken(price)),
    ['0.000005', '0.0000025', '0.000000000001', '12.345678', '1', '0'],
  );
});

t.test('return URLs lead to this server only', async (t) => {
  const baseUrl = 'https://quarry.example.com';
  const returnUrlOf = (returnUrl: string | null) => parseReturnUrl(returnUrl, baseUrl, '/docs');
  t.equal(returnUrlOf(null), `${baseUrl}/docs`);
  t.equal(returnUrlOf('/app/billing?tab=1#x'), `${baseUrl}/app/billing?tab=1#x`);
  t.equal(returnUrlOf(`${baseUrl}/app`), `${baseUrl}/app`);
  const evil = [
    ...[
      '',
      'app',
      '//evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      'https:evil.example',
      'https:/evil.example',
    ],
    ...['https://evil.example', 'https://quarry.example.com.evil.example', 'http://quarry.example.com/'],
    ...[
      'https://quarry.example.com:444/',
      'https://quarry.example.com@evil.example/',
      'https://a@quarry.example.com/',
    ],
    ...[
      'javascript:alert(1)',
      'data:text/html,x',
      '/\t/evil.example',
      '/a\n',
      ' /a',
      '/a b',
      `/${'a'.repeat(4_000)}`,
    ],
    ...['https://quarry.example.com//evil.example', '/..//evil.example', 'blob:https://quarry.example.com/1'],
  ];
  for (const returnUrl of evil)
    t.throws(() => returnUrlOf(returnUrl), { code: 'bad_request' }, JSON.stringify(returnUrl.slice(0, 60)));
});
