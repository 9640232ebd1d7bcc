import { type Static, Type } from './typebox.ts';
import { Component, Nullable } from './wire.ts';

/** Counts of documents by metadata. */

const facetFields = Type.Array(
  Type.Union([
    Type.String(),
    Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: {} }),
  ]),
);
const syntax =
  'a name, `{"author": {"limit": 20}}`, `{"year": {"ranges": [{"from": 2000, "to": 2010}]}}`, or ranges of dates `{"from": {"$date": "2026-01-01"}}`';
const bounds = 'At most 16 fields; 10 values of a field, or `limit`, at most 100.';
const examples = [['author', { year: { ranges: [{ from: 2000, to: 2010 }] } }]];

export const queryFacets = Type.Optional(
  Nullable(facetFields, {
    description: `Counts of the documents that match the filter, by the values of metadata fields: ${syntax}. They count all documents that match the filter, not only those that the query finds. ${bounds}`,
    examples,
  }),
);

export const listFacets = Type.Optional(
  Nullable(facetFields, {
    description: `Counts of the documents that match, on all pages, by the values of metadata fields: ${syntax}. This reads the whole collection. ${bounds}`,
    examples,
  }),
);

const facetBound = Type.Optional(Type.Union([Type.String(), Type.Number()]));
export const FacetResponse = Component('FacetResponse', 'Counts of one metadata field.', {
  field: Type.String(),
  values: Type.Optional(
    Type.Array(
      Type.Object({
        value: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
        count: Type.Integer({ description: 'Number of documents.' }),
      }),
      { description: 'The most frequent values first.' },
    ),
  ),
  num_values: Type.Optional(
    Type.Integer({
      description: 'Number of distinct values, which can be larger than the number of listed values.',
    }),
  ),
  ranges: Type.Optional(
    Type.Array(Type.Object({ from: facetBound, to: facetBound, count: Type.Integer() }), {
      description: 'In the order of the request; `from` is inclusive, `to` is exclusive. Dates are strings.',
    }),
  ),
});
export type FacetResponse = Static<typeof FacetResponse>;

export const facetResponses = Type.Optional(
  Type.Array(FacetResponse, { description: 'In the order of the request; only with `facets`.' }),
);
