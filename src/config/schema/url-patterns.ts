export const serviceUrlPattern = /^https?:\/\/[^\s?#@]+$/;
export const serviceUrlAllowed = 'an http:// or https:// URL without user, query or fragment';
/** One URL, or up to 16 of equivalent endpoints. */
export const serviceUrlsPattern = /^https?:\/\/[^\s?#@,]+(,https?:\/\/[^\s?#@,]+){0,15}$/;
export const serviceUrlsAllowed = `${serviceUrlAllowed}; several endpoints of the same service are separated by commas`;
export const issuerUrlPattern =
  /^(https:\/\/[^\s?#@]+[^\s?#@/]|http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(\/[^\s?#@]*[^\s?#@/])?)$/;
export const issuerUrlAllowed = 'an https:// URL without a trailing slash; http:// for this machine only';

/** Hosts or origins, separated by commas; * for all. */
export const hostsPattern =
  /^(\*|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?)(,(\*|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?))*$/;

/** Template with `{query}` before `{document}`, each of them once. */
export const rerankTemplatePattern =
  /^(?:(?!\{query\}|\{document\})[\s\S])*\{query\}(?:(?!\{query\}|\{document\})[\s\S])*\{document\}(?:(?!\{query\}|\{document\})[\s\S])*$/;
