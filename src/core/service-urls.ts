/** Splits the URLs of a setting for one or several endpoints, without trailing slashes. */
export function splitServiceUrls(urls: string): string[] {
  return urls.split(',').map((url) => url.replace(/\/+$/, ''));
}
