import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** Deviations of an authenticator that a page of a site, or an attacker, can cause. */
export interface AuthenticatorBehavior {
  /** Origin of the page that asks. */
  readonly origin?: string;
  /** Host name to which the reply is bound; default: that of the options. */
  readonly relyingPartyId?: string;
  readonly isUserPresent?: boolean;
  readonly isUserVerified?: boolean;
  /** Signature counter of the reply. */
  readonly counter?: number;
  /** Format of the statement about the model of the authenticator. */
  readonly attestation?: 'none' | 'packed';
}

interface CreationOptions {
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
  readonly challenge: string;
}

interface RequestOptions {
  readonly rpId: string;
  readonly challenge: string;
}

/** A passkey of the authenticator. */
export interface SoftwareCredential {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly userHandle: string;
}

type CborValue =
  | string
  | number
  | Uint8Array
  | readonly CborValue[]
  | ReadonlyMap<string | number, CborValue>;

const flagBits = { present: 0x01, verified: 0x04, attested: 0x40 } as const;

/** Authenticator for passkeys with ES256 keys, which replies as browsers send it. */
export class SoftwareAuthenticator {
  readonly #origin: string;
  readonly credentials: SoftwareCredential[] = [];

  /** `origin`: that of the page that the browser shows. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Creates a passkey: `navigator.credentials.create()`. `id`: ID of the credential, in base64url. */
  create(
    options: CreationOptions,
    behavior: AuthenticatorBehavior = {},
    id = randomBytes(32).toString('base64url'),
  ) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const idBytes = Buffer.from(id, 'base64url');
    this.credentials.push({ id, privateKey, userHandle: options.user.id });
    const { x, y } = publicKey.export({ format: 'jwk' });
    const coseKey = new Map<number, CborValue>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x!, 'base64url')],
      [-3, Buffer.from(y!, 'base64url')],
    ]);
    const idLength = Buffer.alloc(2);
    idLength.writeUInt16BE(idBytes.byteLength);
    const attested = Buffer.concat([Buffer.alloc(16), idLength, idBytes, encodeCbor(coseKey)]);
    const authData = Buffer.concat([authenticatorData(options.rp.id, behavior, flagBits.attested), attested]);
    const statement = new Map<string, CborValue>(
      behavior.attestation === 'packed'
        ? [
            ['alg', -7],
            ['sig', randomBytes(70)],
            ['x5c', [randomBytes(100)]],
          ]
        : [],
    );
    const attestationObject = encodeCbor(
      new Map<string, CborValue>([
        ['fmt', behavior.attestation ?? 'none'],
        ['attStmt', statement],
        ['authData', authData],
      ]),
    );
    return {
      id,
      rawId: id,
      type: 'public-key',
      response: {
        clientDataJSON: this.#clientData('webauthn.create', options.challenge, behavior).toString(
          'base64url',
        ),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      },
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    };
  }

  /** Signs with the newest passkey, or with `credential`: `navigator.credentials.get()`. */
  sign(
    options: RequestOptions,
    behavior: AuthenticatorBehavior = {},
    credential: SoftwareCredential = this.credentials.at(-1)!,
  ) {
    const clientData = this.#clientData('webauthn.get', options.challenge, behavior);
    const authData = authenticatorData(options.rpId, behavior, 0);
    const signed = Buffer.concat([authData, createHash('sha256').update(clientData).digest()]);
    return {
      id: credential.id,
      rawId: credential.id,
      type: 'public-key',
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: sign('sha256', signed, credential.privateKey).toString('base64url'),
        userHandle: credential.userHandle,
      },
      clientExtensionResults: {},
      authenticatorAttachment: 'platform',
    };
  }

  #clientData(type: string, challenge: string, { origin = this.#origin }: AuthenticatorBehavior): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }
}

function authenticatorData(
  expectedId: string,
  {
    relyingPartyId = expectedId,
    isUserPresent = true,
    isUserVerified = true,
    counter = 0,
  }: AuthenticatorBehavior,
  flags: number,
): Buffer {
  const present = isUserPresent ? flagBits.present : 0;
  const verified = isUserVerified ? flagBits.verified : 0;
  const tail = Buffer.alloc(5);
  tail.writeUInt8(flags | present | verified);
  tail.writeUInt32BE(counter, 1);
  return Buffer.concat([createHash('sha256').update(relyingPartyId).digest(), tail]);
}

/** Encodes the types of CBOR (RFC 8949) that authenticators use. */
function encodeCbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value >= 0 ? cborHead(0, value) : cborHead(1, -1 - value);
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([cborHead(2, value.byteLength), value]);
  if (value instanceof Map) {
    const pairs = [...value].flatMap(([key, each]) => [encodeCbor(key), encodeCbor(each)]);
    return Buffer.concat([cborHead(5, value.size), ...pairs]);
  }
  const items = value as readonly CborValue[];
  return Buffer.concat([cborHead(4, items.length), ...items.map(encodeCbor)]);
}

/** Type and length, or the value of a number below 2^16. */
function cborHead(type: number, count: number): Buffer {
  if (count < 24) return Buffer.from([(type << 5) | count]);
  if (count < 256) return Buffer.from([(type << 5) | 24, count]);
  return Buffer.from([(type << 5) | 25, count >> 8, count & 0xff]);
}
