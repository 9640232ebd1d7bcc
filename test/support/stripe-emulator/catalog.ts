import { StripeApiError } from './stripe-error.ts';
import {
  type Handlers,
  mergeMetadata,
  pageOfObjects,
  pickParameters,
  type StripeRequest,
} from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';

/** Request handlers of products, prices, coupons and promotion codes. */

const productFields = [
  'name',
  'active',
  'description',
  'unit_label',
  'statement_descriptor',
  'tax_code',
  'url',
  'images',
];

function createProduct({ state, parameters }: StripeRequest): StripeObject {
  const id = parameters.id ?? state.nextId('prod');
  if (state.find(id) !== null)
    throw new StripeApiError('Product already exists.', { code: 'resource_already_exists' });
  const product = state.add({
    id,
    object: 'product',
    active: true,
    default_price: null,
    description: null,
    images: [],
    marketing_features: [],
    metadata: mergeMetadata({}, parameters.metadata),
    type: 'service',
    updated: state.now,
    url: null,
    ...pickParameters(parameters, productFields),
  });
  state.recordEvent('product.created', product);
  return product;
}

function updateProduct({ state, ids, parameters }: StripeRequest): StripeObject {
  const product = state.get('product', ids[0]!);
  product.metadata = mergeMetadata(product.metadata, parameters.metadata);
  Object.assign(product, pickParameters(parameters, [...productFields, 'default_price']), {
    updated: state.now,
  });
  state.recordEvent('product.updated', product);
  return product;
}

function createPrice({ state, parameters }: StripeRequest): StripeObject {
  if (parameters.billing_scheme === 'tiered') throw new StripeApiError('The emulator has no tiered prices.');
  const product =
    parameters.product ?? createProduct({ state, ids: [], parameters: parameters.product_data ?? {} }).id;
  state.get('product', product);
  const { unit_amount: whole, unit_amount_decimal: decimal } = parameters;
  if ((whole === undefined) === (decimal === undefined))
    throw new StripeApiError('You must specify exactly one of `unit_amount` and `unit_amount_decimal`.');
  claimLookupKey(state, parameters.lookup_key, parameters.transfer_lookup_key === true);
  const isWhole = decimal === undefined || /^-?\d+(\.0*)?$/.test(decimal);
  const price = state.add({
    id: state.nextId('price'),
    object: 'price',
    active: parameters.active ?? true,
    billing_scheme: 'per_unit',
    currency: parameters.currency,
    custom_unit_amount: null,
    lookup_key: parameters.lookup_key ?? null,
    metadata: mergeMetadata({}, parameters.metadata),
    nickname: parameters.nickname ?? null,
    product,
    recurring: recurringPriceOf(state, parameters.recurring),
    tax_behavior: parameters.tax_behavior ?? 'unspecified',
    tiers_mode: null,
    transform_quantity: parameters.transform_quantity ?? null,
    type: parameters.recurring === undefined ? 'one_time' : 'recurring',
    unit_amount: isWhole ? Number(whole ?? decimal) : null,
    unit_amount_decimal: decimal ?? String(whole),
  });
  state.recordEvent('price.created', price);
  return price;
}

function recurringPriceOf(state: StripeState, recurring: Record<string, unknown> | undefined) {
  if (recurring === undefined) return null;
  const metered = recurring.usage_type === 'metered';
  if (metered && recurring.meter === undefined)
    throw new StripeApiError('Metered prices must be backed by meters. Please provide `recurring[meter]`.', {
      param: 'recurring[meter]',
    });
  if (recurring.meter !== undefined) state.get('billing.meter', recurring.meter as string);
  return {
    interval: recurring.interval,
    interval_count: recurring.interval_count ?? 1,
    meter: recurring.meter ?? null,
    trial_period_days: null,
    usage_type: recurring.usage_type ?? 'licensed',
  };
}

function claimLookupKey(state: StripeState, key: string | undefined, transfer: boolean): void {
  if (key === undefined) return;
  const owner = state.listObjects('price').find((price) => price.lookup_key === key);
  if (owner === undefined) return;
  if (!transfer)
    throw new StripeApiError(`A price (\`${owner.id}\`) already uses that lookup key.`, {
      code: 'resource_already_exists',
    });
  owner.lookup_key = null;
}

function updatePrice({ state, ids, parameters }: StripeRequest): StripeObject {
  const price = state.get('price', ids[0]!);
  if (parameters.lookup_key !== undefined && parameters.lookup_key !== price.lookup_key)
    claimLookupKey(state, parameters.lookup_key, parameters.transfer_lookup_key === true);
  price.metadata = mergeMetadata(price.metadata, parameters.metadata);
  Object.assign(price, pickParameters(parameters, ['active', 'lookup_key', 'nickname', 'tax_behavior']));
  state.recordEvent('price.updated', price);
  return price;
}

function listPrices(call: StripeRequest) {
  const { lookup_keys: keys, product, active, type, currency } = call.parameters;
  const found = call.state
    .listObjects('price')
    .filter((price) => keys === undefined || keys.includes(price.lookup_key))
    .filter((price) => product === undefined || price.product === product)
    .filter((price) => active === undefined || price.active === active)
    .filter((price) => type === undefined || price.type === type)
    .filter((price) => currency === undefined || price.currency === currency);
  return pageOfObjects(call, found, '/v1/prices');
}

function listProducts(call: StripeRequest) {
  const { ids, active } = call.parameters;
  const found = call.state
    .listObjects('product')
    .filter((product) => ids === undefined || ids.includes(product.id))
    .filter((product) => active === undefined || product.active === active);
  return pageOfObjects(call, found, '/v1/products');
}

function createCoupon({ state, parameters }: StripeRequest): StripeObject {
  const { amount_off: amount, percent_off: percent, currency } = parameters;
  if ((amount === undefined) === (percent === undefined))
    throw new StripeApiError('You must pass either percent_off or amount_off.');
  if (amount !== undefined && currency === undefined)
    throw new StripeApiError('Missing required param: currency.', { param: 'currency' });
  const products: readonly string[] | null = parameters.applies_to?.products ?? null;
  for (const product of products ?? []) state.get('product', product);
  const coupon = state.add({
    id: parameters.id ?? state.nextId('coupon'),
    object: 'coupon',
    amount_off: amount ?? null,
    ...(products === null ? {} : { applies_to: { products } }),
    currency: currency ?? null,
    duration: parameters.duration ?? 'once',
    duration_in_months: parameters.duration_in_months ?? null,
    max_redemptions: parameters.max_redemptions ?? null,
    metadata: mergeMetadata({}, parameters.metadata),
    name: parameters.name ?? null,
    percent_off: percent ?? null,
    redeem_by: parameters.redeem_by ?? null,
    times_redeemed: 0,
    valid: true,
  });
  state.recordEvent('coupon.created', coupon);
  return coupon;
}

function removeCoupon({ state, ids }: StripeRequest) {
  const coupon = state.get('coupon', ids[0]!);
  coupon.valid = false;
  state.recordEvent('coupon.deleted', coupon);
  return { id: coupon.id, object: 'coupon', deleted: true } as const;
}

function createPromotionCode({ state, parameters }: StripeRequest): StripeObject {
  const { code, promotion } = parameters;
  state.get('coupon', promotion.coupon);
  const same = (other: StripeObject) =>
    other.customer === (parameters.customer ?? null) &&
    other.active &&
    other.code.toLowerCase() === String(code).toLowerCase();
  if (code !== undefined && state.listObjects('promotion_code').some(same))
    throw new StripeApiError('An active promotion code with the same code already exists.');
  const promotionCode = state.add({
    id: state.nextId('promo'),
    object: 'promotion_code',
    active: parameters.active ?? true,
    code: code ?? state.nextId('C').toUpperCase(),
    customer: parameters.customer ?? null,
    expires_at: parameters.expires_at ?? null,
    max_redemptions: parameters.max_redemptions ?? null,
    metadata: mergeMetadata({}, parameters.metadata),
    promotion: { type: 'coupon', coupon: promotion.coupon },
    restrictions: {
      first_time_transaction: false,
      minimum_amount: null,
      minimum_amount_currency: null,
      ...parameters.restrictions,
    },
    times_redeemed: 0,
  });
  state.recordEvent('promotion_code.created', promotionCode);
  return promotionCode;
}

/** A promotion code is active while the code and its coupon are active and not expired. */
function isActive(state: StripeState, code: StripeObject): boolean {
  const coupon = state.get('coupon', code.promotion.coupon);
  const isOver = (at: number | null) => at !== null && at <= state.now;
  return code.active && coupon.valid && !isOver(code.expires_at) && !isOver(coupon.redeem_by);
}

function presentCode(state: StripeState, code: StripeObject): StripeObject {
  return { ...code, active: isActive(state, code) };
}

function listPromotionCodes(call: StripeRequest) {
  const { code, active, coupon, customer } = call.parameters;
  const found = call.state
    .listObjects('promotion_code')
    .map((one) => presentCode(call.state, one))
    .filter((one) => code === undefined || one.code.toLowerCase() === code.toLowerCase())
    .filter((one) => active === undefined || one.active === active)
    .filter((one) => coupon === undefined || one.promotion.coupon === coupon)
    .filter((one) => customer === undefined || one.customer === customer);
  return pageOfObjects(call, found, '/v1/promotion_codes');
}

export const catalogHandlers: Handlers = {
  'Products.create': createProduct,
  'Products.update': updateProduct,
  'Products.retrieve': ({ state, ids }) => state.get('product', ids[0]!),
  'Products.list': listProducts,
  'Prices.create': createPrice,
  'Prices.update': updatePrice,
  'Prices.retrieve': ({ state, ids }) => state.get('price', ids[0]!),
  'Prices.list': listPrices,
  'Coupons.create': createCoupon,
  'Coupons.del': removeCoupon,
  'Coupons.retrieve': ({ state, ids }) => state.get('coupon', ids[0]!),
  'Coupons.list': (call) => pageOfObjects(call, call.state.listObjects('coupon'), '/v1/coupons'),
  'PromotionCodes.create': createPromotionCode,
  'PromotionCodes.retrieve': ({ state, ids }) => presentCode(state, state.get('promotion_code', ids[0]!)),
  'PromotionCodes.update': ({ state, ids, parameters }) => {
    const code = state.get('promotion_code', ids[0]!);
    code.metadata = mergeMetadata(code.metadata, parameters.metadata);
    return Object.assign(code, pickParameters(parameters, ['active']));
  },
  'PromotionCodes.list': listPromotionCodes,
};
