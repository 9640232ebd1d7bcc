/** Types of changes in the feed; apart from the schemas, so that commands do not load those. */
export const changeTypes = [
  'document.added',
  'document.overwritten',
  'document.indexed',
  'document.failed',
  'document.metadata_changed',
  'document.deleted',
  'collection.created',
  'collection.renamed',
  'collection.deleted',
] as const;
