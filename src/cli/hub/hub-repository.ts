import { Type } from '../../schemas/typebox.ts';
import { compileValidator } from '../../schemas/validate.ts';

/** A file of a repository. Large files have a SHA-256, others the hash of their Git object. */
export interface HubFile {
  readonly path: string;
  /** Null: unknown. */
  readonly bytes: number | null;
  readonly sha256: string | null;
  /** SHA-1 of the Git object: of `blob <bytes>\0` and the content. */
  readonly gitHash: string | null;
}

export interface HubRepository {
  /** Commit of the requested revision: 40 hexadecimal digits. */
  readonly commit: string;
  /** Null: not specified. */
  readonly license: string | null;
  readonly files: readonly HubFile[];
}

const filesMax = 20_000;
const Bytes = Type.Integer({ minimum: 0 });

/** The fields that are used of the reply of the hub. */
const RepositoryReply = Type.Object({
  sha: Type.String({ pattern: '^[0-9a-f]{40}$' }),
  cardData: Type.Optional(Type.Unknown()),
  siblings: Type.Array(
    Type.Object({
      rfilename: Type.String({ minLength: 1, maxLength: 4_096 }),
      size: Type.Optional(Type.Union([Bytes, Type.Null()])),
      blobId: Type.Optional(Type.Union([Type.String({ pattern: '^[0-9a-f]{40}$' }), Type.Null()])),
      lfs: Type.Optional(
        Type.Union([
          Type.Object({ sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }), size: Type.Optional(Bytes) }),
          Type.Null(),
        ]),
      ),
    }),
    { maxItems: filesMax },
  ),
});

const validate = compileValidator(RepositoryReply, ['reply']);

/**
 * Reads the description of a repository. Errors: Error for an invalid description, and for a path that leaves its folder,
 * because no repository has one.
 */
export function readHubRepository(reply: unknown): HubRepository {
  const { sha, cardData, siblings } = validate(reply);
  const outside = siblings.find(({ rfilename }) => leavesFolder(rfilename));
  if (outside !== undefined)
    throw new Error(`the path ${JSON.stringify(outside.rfilename)} is outside of the repository`);
  const { license } = (cardData ?? {}) as { readonly license?: unknown };
  return {
    commit: sha,
    license: typeof license === 'string' && license !== '' ? license : null,
    files: siblings.map(({ rfilename, size, blobId, lfs }) => ({
      path: rfilename,
      bytes: lfs?.size ?? size ?? null,
      sha256: lfs?.sha256 ?? null,
      gitHash: lfs == null ? (blobId ?? null) : null,
    })),
  };
}

function leavesFolder(path: string): boolean {
  return /^([/\\]|[A-Za-z]:)|\0/.test(path) || path.split(/[/\\]/).includes('..');
}
