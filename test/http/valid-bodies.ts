/** Valid requests that a test modifies. */

export const addPath = '/v1/documents/add-document';

export const addBody = (changes: Record<string, unknown>) => ({
  collection_name: 'c',
  path: 'p',
  content: { type: 'text', text: 'x' },
  ...changes,
});

export const queryBody = (changes: Record<string, unknown>) => ({
  collection_name: 'c',
  query: 'q',
  k: 1,
  ...changes,
});
