/** Path of the list that contains the resource of a page; other paths are returned. */
export function listPageOf(path: string): string {
  return path.replace(/^\/app\/(collection|document|source|webhook)$/, '$&s');
}
