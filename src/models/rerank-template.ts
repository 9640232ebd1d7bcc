/** Text of a template for services that join the texts of a pair: `query` and `document` receive one each. */
export interface RerankTemplate {
  readonly query: { readonly prefix: string; readonly suffix: string };
  readonly document: { readonly suffix: string };
}

/** Splits a template with `{query}` before `{document}`, each of them once. */
export function parseRerankTemplate(template: string): RerankTemplate {
  const [prefix = '', rest = ''] = template.split('{query}');
  const [suffix = '', end = ''] = rest.split('{document}');
  return { query: { prefix, suffix }, document: { suffix: end } };
}
