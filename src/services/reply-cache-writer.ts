import type { ReplyFormat, ReplyParts } from '../search/reply-parts.ts';
import type { DocumentHit, PageHit, SnippetHit } from '../search/search-result.ts';
import { findFinePages } from '../search/strategies/fine-snippets.ts';
import { type Collection, getGeneration } from '../storage/collections.ts';
import type { RowLocation, VersionReader } from '../storage/version-reader.ts';
import type { ServiceCall } from './call.ts';
import { encodeFineParts } from './fine-reply-parts.ts';
import type { PageReplyOptions } from './query-replies.ts';
import type { ReplyFragments } from './reply-fragments.ts';

interface ReplyCacheWriterOptions {
  /** Null if the engine writes no replies. */
  readonly replyParts: ReplyParts | null;
  readonly reader: VersionReader;
  readonly fragments: ReplyFragments;
}

/** Number of coarse chunks whose fine chunks are cached between two yields: about a millisecond. */
const fineBatchSize = 8;

/** Caches the serialized parts of results, so that the engine can write the next replies with them. */
export class ReplyCacheWriter {
  readonly #options: ReplyCacheWriterOptions;

  constructor(options: ReplyCacheWriterOptions) {
    this.#options = options;
  }

  putHits(
    { baseUrl }: Pick<ServiceCall, 'baseUrl'>,
    format: ReplyFormat,
    hits: readonly (DocumentHit | SnippetHit)[],
  ): void {
    const { replyParts, fragments } = this.#options;
    if (replyParts?.admitsReply() !== true) return;
    for (const hit of hits) replyParts.put(format, fragments.ofHit(hit, baseUrl));
  }

  /** Pages whose text is not one stored chunk are left out: such texts may be long. */
  putPages(
    { baseUrl }: Pick<ServiceCall, 'baseUrl'>,
    format: ReplyFormat,
    { hits, options }: { readonly hits: readonly PageHit[]; readonly options: PageReplyOptions },
  ): void {
    const { replyParts, fragments } = this.#options;
    if (replyParts?.admitsReply() !== true) return;
    for (const hit of hits) {
      replyParts.put(format, fragments.ofHit(hit, baseUrl));
      const content = options.content(hit);
      if (content !== null && !('text' in content)) continue;
      if (content === null && format.unit === 'pages-with-content') continue;
      const page = fragments.ofPage(hit, baseUrl, { content, imageUrl: options.imageUrl(hit) });
      replyParts.putPage(format, hit.version.version, page, hit.rows);
    }
  }

  /** Caches the fine chunks of coarse chunks that the cache lacks. */
  async putFineChunks(
    call: Pick<ServiceCall, 'baseUrl' | 'yieldToEventLoop'>,
    format: ReplyFormat,
    { collection, parents }: { readonly collection: Collection; readonly parents: readonly RowLocation[] },
  ): Promise<void> {
    const { replyParts, reader, fragments } = this.#options;
    if (replyParts?.admitsFineChunks() !== true) return;
    const generation = getGeneration(collection);
    const missing = parents.filter((parent) => !replyParts.hasFineChunks(format, parent, generation));
    for (let start = 0; start < missing.length; start += fineBatchSize) {
      const pause = call.yieldToEventLoop();
      if (pause !== null) await pause;
      const batch = missing.slice(start, start + fineBatchSize);
      const contents = reader.readRows(collection.collectionId, batch);
      const fineChunks = reader.readFineChunks(collection.collectionId, batch, generation);
      for (const [i, parent] of batch.entries()) {
        const [content, data] = [contents[i], fineChunks[i]];
        if (content === undefined || data === undefined) continue;
        const { parts, chunkJson } = fragments.ofRow(content, parent.row, call.baseUrl);
        replyParts.put(format, parts);
        const pagesOf = (index: number) => findFinePages(reader, content.version, content.chunk, index);
        const fine = encodeFineParts(chunkJson, data, { generation, pagesOf });
        if (fine !== null) replyParts.putFineChunks(format, parent, fine);
      }
    }
  }
}
