/** Path of the list that contains the document, source or webhook of a page; other paths are returned. */
export function listPageOf(path: string): string {
  return path.replace(/^\/app\/(document|source|webhook)$/, '$&s');
}
