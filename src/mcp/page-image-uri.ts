/** A page of a document. */
export interface PageAddress {
  readonly collection: string;
  readonly path: string;
  /** Zero-based. */
  readonly page: number;
}

export const pageImageTemplate = 'quarry://page-images/{collection}/{path}/{page}';

const pattern = /^quarry:\/\/page-images\/([^/]+)\/([^/]+)\/(\d{1,9})$/;

export function formatPageImageUri({ collection, path, page }: PageAddress): string {
  return `quarry://page-images/${encodeURIComponent(collection)}/${encodeURIComponent(path)}/${page}`;
}

/** Returns null for a URI of another form. */
export function parsePageImageUri(uri: string): PageAddress | null {
  const [, collection, path, page] = pattern.exec(uri) ?? [];
  if (collection === undefined || path === undefined || page === undefined) return null;
  try {
    return {
      collection: decodeURIComponent(collection),
      path: decodeURIComponent(path),
      page: Number(page),
    };
  } catch {
    return null; // decodeURIComponent throws only URIError, for a malformed sequence
  }
}
