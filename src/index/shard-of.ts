/**
 * Returns the shard of a path: FNV-1a over its UTF-8 bytes, mixed by the MurmurHash3 finalizer, modulo the
 * shard count. Part of the data format: every version of a path is in the same shard, so that an overwrite is
 * one step in one shard.
 */
export function shardOf(path: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(path, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % shards;
}
