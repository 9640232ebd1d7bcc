import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { AppError } from '../../core/app-error.ts';
import { sourceLimits } from '../../core/source-limits.ts';
import type { WebReply } from './web-client.ts';

const gunzipAsync = promisify(gunzip);

/** Returns the reply with the unpacked content of a gzip file, such as a sitemap.xml.gz. Errors: AppError. */
export async function unpack<Reply extends WebReply>(reply: Reply, url: URL): Promise<Reply> {
  // The types and names of such files differ between servers.
  if (reply.body[0] !== 0x1f || reply.body[1] !== 0x8b) return reply;
  const { pageBytesMax: maxOutputLength } = sourceLimits;
  try {
    return { ...reply, body: await gunzipAsync(reply.body, { maxOutputLength }) };
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw isTooLarge
      ? new AppError('too_large', `The file ${url.href} has more than ${maxOutputLength} bytes.`, { cause })
      : new AppError('bad_gateway', `The file ${url.href} is not a complete gzip file.`, { cause });
  }
}
