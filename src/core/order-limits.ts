/** Bounds of orders and counts by metadata. */
export const orderLimits = {
  sortFieldsMax: 4,
  /** 1,000 years of 365 days. */
  halfLifeMsMax: 31_536_000_000_000,
  groupSizeDefault: 3,
  groupSizeMax: 10,
  /** Memory of the different values that a list counts for its facets. */
  listFacetBytesMax: 33_554_432,
} as const;
