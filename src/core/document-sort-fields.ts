/** Columns by which a list of documents can be sorted; apart from the schemas, so that commands do not load those. */
export const documentSortFields = ['path', 'created_at', 'size', 'num_pages', 'index_status'] as const;
export type DocumentSortField = (typeof documentSortFields)[number];
