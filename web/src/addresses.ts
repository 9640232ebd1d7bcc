/** Addresses of pages. Names of collections and documents hold any character, so they go into the query. */

function address(page: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((each): each is [string, string] => each[1] !== undefined);
  const words = new URLSearchParams(given).toString();
  return words === '' ? `/app/${page}` : `/app/${page}?${words}`;
}

export function documentsOf(collection: string): string {
  return address('documents', { collection });
}

/** Those that could not be parsed or indexed. */
export function failedOf(collection: string): string {
  return address('documents', { collection, show: 'failed' });
}

export function documentAt(collection: string, path: string, page?: number): string {
  return address('document', { collection, path, page: page === undefined ? undefined : String(page + 1) });
}

export function uploadTo(collection: string): string {
  return address('upload', { collection });
}

export function playgroundOf(collection: string): string {
  return address('playground', { collection });
}
