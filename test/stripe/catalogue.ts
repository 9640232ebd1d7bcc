import { type Call, given, type Handlers, mergedMetadata, pageOf } from './calls.ts';
import { Refusal } from './refusal.ts';
import type { Thing, World } from './world.ts';

/** Products, prices, coupons and promotion codes. */

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

function createProduct({ world, parameters }: Call): Thing {
  const id = parameters.id ?? world.id('prod');
  if (world.find(id) !== null)
    throw new Refusal('Product already exists.', { code: 'resource_already_exists' });
  const product = world.add({
    id,
    object: 'product',
    active: true,
    default_price: null,
    description: null,
    images: [],
    marketing_features: [],
    metadata: mergedMetadata({}, parameters.metadata),
    type: 'service',
    updated: world.now,
    url: null,
    ...given(parameters, productFields),
  });
  world.happens('product.created', product);
  return product;
}

function updateProduct({ world, ids, parameters }: Call): Thing {
  const product = world.get('product', ids[0]!);
  product.metadata = mergedMetadata(product.metadata, parameters.metadata);
  Object.assign(product, given(parameters, [...productFields, 'default_price']), { updated: world.now });
  world.happens('product.updated', product);
  return product;
}

function createPrice({ world, parameters }: Call): Thing {
  if (parameters.billing_scheme === 'tiered') throw new Refusal('The emulator has no tiered prices.');
  const product =
    parameters.product ?? createProduct({ world, ids: [], parameters: parameters.product_data ?? {} }).id;
  world.get('product', product);
  const { unit_amount: whole, unit_amount_decimal: decimal } = parameters;
  if ((whole === undefined) === (decimal === undefined))
    throw new Refusal('You must specify exactly one of `unit_amount` and `unit_amount_decimal`.');
  takeLookupKey(world, parameters.lookup_key, parameters.transfer_lookup_key === true);
  const isWhole = decimal === undefined || /^-?\d+(\.0*)?$/.test(decimal);
  const price = world.add({
    id: world.id('price'),
    object: 'price',
    active: parameters.active ?? true,
    billing_scheme: 'per_unit',
    currency: parameters.currency,
    custom_unit_amount: null,
    lookup_key: parameters.lookup_key ?? null,
    metadata: mergedMetadata({}, parameters.metadata),
    nickname: parameters.nickname ?? null,
    product,
    recurring: recurringOf(world, parameters.recurring),
    tax_behavior: parameters.tax_behavior ?? 'unspecified',
    tiers_mode: null,
    transform_quantity: parameters.transform_quantity ?? null,
    type: parameters.recurring === undefined ? 'one_time' : 'recurring',
    unit_amount: isWhole ? Number(whole ?? decimal) : null,
    unit_amount_decimal: decimal ?? String(whole),
  });
  world.happens('price.created', price);
  return price;
}

function recurringOf(world: World, recurring: Record<string, unknown> | undefined) {
  if (recurring === undefined) return null;
  const metered = recurring.usage_type === 'metered';
  if (metered && recurring.meter === undefined)
    throw new Refusal('Metered prices must be backed by meters. Please provide `recurring[meter]`.', {
      param: 'recurring[meter]',
    });
  if (recurring.meter !== undefined) world.get('billing.meter', recurring.meter as string);
  return {
    interval: recurring.interval,
    interval_count: recurring.interval_count ?? 1,
    meter: recurring.meter ?? null,
    trial_period_days: null,
    usage_type: recurring.usage_type ?? 'licensed',
  };
}

function takeLookupKey(world: World, key: string | undefined, transfer: boolean): void {
  if (key === undefined) return;
  const owner = world.all('price').find((price) => price.lookup_key === key);
  if (owner === undefined) return;
  if (!transfer)
    throw new Refusal(`A price (\`${owner.id}\`) already uses that lookup key.`, {
      code: 'resource_already_exists',
    });
  owner.lookup_key = null;
}

function updatePrice({ world, ids, parameters }: Call): Thing {
  const price = world.get('price', ids[0]!);
  if (parameters.lookup_key !== undefined && parameters.lookup_key !== price.lookup_key)
    takeLookupKey(world, parameters.lookup_key, parameters.transfer_lookup_key === true);
  price.metadata = mergedMetadata(price.metadata, parameters.metadata);
  Object.assign(price, given(parameters, ['active', 'lookup_key', 'nickname', 'tax_behavior']));
  world.happens('price.updated', price);
  return price;
}

function listPrices(call: Call) {
  const { lookup_keys: keys, product, active, type, currency } = call.parameters;
  const found = call.world
    .all('price')
    .filter((price) => keys === undefined || keys.includes(price.lookup_key))
    .filter((price) => product === undefined || price.product === product)
    .filter((price) => active === undefined || price.active === active)
    .filter((price) => type === undefined || price.type === type)
    .filter((price) => currency === undefined || price.currency === currency);
  return pageOf(call, found, '/v1/prices');
}

function listProducts(call: Call) {
  const { ids, active } = call.parameters;
  const found = call.world
    .all('product')
    .filter((product) => ids === undefined || ids.includes(product.id))
    .filter((product) => active === undefined || product.active === active);
  return pageOf(call, found, '/v1/products');
}

function createCoupon({ world, parameters }: Call): Thing {
  const { amount_off: amount, percent_off: percent, currency } = parameters;
  if ((amount === undefined) === (percent === undefined))
    throw new Refusal('You must pass either percent_off or amount_off.');
  if (amount !== undefined && currency === undefined)
    throw new Refusal('Missing required param: currency.', { param: 'currency' });
  const products: readonly string[] | null = parameters.applies_to?.products ?? null;
  for (const product of products ?? []) world.get('product', product);
  const coupon = world.add({
    id: parameters.id ?? world.id('coupon'),
    object: 'coupon',
    amount_off: amount ?? null,
    ...(products === null ? {} : { applies_to: { products } }),
    currency: currency ?? null,
    duration: parameters.duration ?? 'once',
    duration_in_months: parameters.duration_in_months ?? null,
    max_redemptions: parameters.max_redemptions ?? null,
    metadata: mergedMetadata({}, parameters.metadata),
    name: parameters.name ?? null,
    percent_off: percent ?? null,
    redeem_by: parameters.redeem_by ?? null,
    times_redeemed: 0,
    valid: true,
  });
  world.happens('coupon.created', coupon);
  return coupon;
}

function removeCoupon({ world, ids }: Call) {
  const coupon = world.get('coupon', ids[0]!);
  coupon.valid = false;
  world.happens('coupon.deleted', coupon);
  return { id: coupon.id, object: 'coupon', deleted: true } as const;
}

function createPromotionCode({ world, parameters }: Call): Thing {
  const { code, promotion } = parameters;
  world.get('coupon', promotion.coupon);
  const same = (other: Thing) =>
    other.customer === (parameters.customer ?? null) &&
    other.active &&
    other.code.toLowerCase() === String(code).toLowerCase();
  if (code !== undefined && world.all('promotion_code').some(same))
    throw new Refusal('An active promotion code with the same code already exists.');
  const made = world.add({
    id: world.id('promo'),
    object: 'promotion_code',
    active: parameters.active ?? true,
    code: code ?? world.id('C').toUpperCase(),
    customer: parameters.customer ?? null,
    expires_at: parameters.expires_at ?? null,
    max_redemptions: parameters.max_redemptions ?? null,
    metadata: mergedMetadata({}, parameters.metadata),
    promotion: { type: 'coupon', coupon: promotion.coupon },
    restrictions: {
      first_time_transaction: false,
      minimum_amount: null,
      minimum_amount_currency: null,
      ...parameters.restrictions,
    },
    times_redeemed: 0,
  });
  world.happens('promotion_code.created', made);
  return made;
}

/** A code is active while it, its coupon and their dates are. */
function isActive(world: World, code: Thing): boolean {
  const coupon = world.get('coupon', code.promotion.coupon);
  const isOver = (at: number | null) => at !== null && at <= world.now;
  return code.active && coupon.valid && !isOver(code.expires_at) && !isOver(coupon.redeem_by);
}

function shownCode(world: World, code: Thing): Thing {
  return { ...code, active: isActive(world, code) };
}

function listPromotionCodes(call: Call) {
  const { code, active, coupon, customer } = call.parameters;
  const found = call.world
    .all('promotion_code')
    .map((one) => shownCode(call.world, one))
    .filter((one) => code === undefined || one.code.toLowerCase() === code.toLowerCase())
    .filter((one) => active === undefined || one.active === active)
    .filter((one) => coupon === undefined || one.promotion.coupon === coupon)
    .filter((one) => customer === undefined || one.customer === customer);
  return pageOf(call, found, '/v1/promotion_codes');
}

export const catalogue: Handlers = {
  'Products.create': createProduct,
  'Products.update': updateProduct,
  'Products.retrieve': ({ world, ids }) => world.get('product', ids[0]!),
  'Products.list': listProducts,
  'Prices.create': createPrice,
  'Prices.update': updatePrice,
  'Prices.retrieve': ({ world, ids }) => world.get('price', ids[0]!),
  'Prices.list': listPrices,
  'Coupons.create': createCoupon,
  'Coupons.del': removeCoupon,
  'Coupons.retrieve': ({ world, ids }) => world.get('coupon', ids[0]!),
  'Coupons.list': (call) => pageOf(call, call.world.all('coupon'), '/v1/coupons'),
  'PromotionCodes.create': createPromotionCode,
  'PromotionCodes.retrieve': ({ world, ids }) => shownCode(world, world.get('promotion_code', ids[0]!)),
  'PromotionCodes.update': ({ world, ids, parameters }) => {
    const code = world.get('promotion_code', ids[0]!);
    code.metadata = mergedMetadata(code.metadata, parameters.metadata);
    return Object.assign(code, given(parameters, ['active']));
  },
  'PromotionCodes.list': listPromotionCodes,
};
