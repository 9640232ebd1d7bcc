/** The first steps of a new reader, above the list of all pages. */
const steps = [
  {
    title: 'Getting started',
    address: '/docs/guides/getting-started',
    text: 'Install and run a first search.',
  },
  { title: 'Search options', address: '/docs/guides/search-options', text: 'Ranking, filters and facets.' },
  { title: 'HTTP API', address: '/docs/reference/http-api', text: 'Authentication and conventions.' },
];

/**
 * Returns the start page: its heading, the first steps, and the sections of docs/README.md. The introduction of that file
 * is for readers of the repository.
 */
export function renderStart(html: string): string {
  const links = steps.map(
    ({ title, address, text }) => `<li><a href="${address}"><strong>${title}</strong>${text}</a></li>`,
  );
  const sections = html.indexOf('<h2');
  return `<h1>Documentation</h1><ul class="steps">${links.join('')}</ul>${sections === -1 ? '' : html.slice(sections)}`;
}
