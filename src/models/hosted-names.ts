/** Names of models of the hosted service: client code written for it still sends them. */
export const hostedNames: ReadonlySet<string> = new Set([
  'zembed-1',
  'zerank-2',
  'zerank-2-small',
  'zerank-2-nano',
  'zerank-1',
  'zerank-1-large',
  'zerank-1-small',
]);

/**
 * Models behind the hosted names. `builtin`: the built-in models, unless an alias maps the name to another model. `real`
 * and `refuse`: only models that aliases map them to; with `real`, the server does not start without these aliases.
 */
export const contractModes = ['builtin', 'real', 'refuse'] as const;
export type ContractMode = (typeof contractModes)[number];

/** Names that need an alias with `real`; clients that name no other model send these. */
export const requiredHostedNames = ['zembed-1', 'zerank-2'] as const;
