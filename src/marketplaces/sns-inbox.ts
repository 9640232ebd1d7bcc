import { verify, X509Certificate } from 'node:crypto';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { type Egress, egressRefusalIn, refusedByEgress } from '../egress/egress.ts';
import { fetchText } from './fetch-text.ts';

export interface SnsInboxOptions {
  /** The topics whose messages are believed: `arn:aws:sns:<region>:<account>:<name>`. */
  readonly topicArns: ReadonlySet<string>;
  /** Where certificates and confirmations are; null: at SNS in the region of the topic. */
  readonly origin: string | null;
  readonly fetch: Egress['fetch'];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The fields that are signed, in the order in which they are. */
const signedFields = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: [
    'Message',
    'MessageId',
    'SubscribeURL',
    'Timestamp',
    'Token',
    'TopicArn',
    'Type',
  ],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const;
type MessageType = keyof typeof signedFields;

const certificatesMax = 16;
/** SNS tries again for an hour; an older one is a replay. */
const ageMsMax = 3_600_000;
const bounds = { msMax: limits.marketplaceCallMsMax, bytesMax: 65_536 };

/**
 * Messages of Amazon SNS: believed when they come from a topic of ours and SNS signed them, with a certificate that SNS
 * itself hands out.
 */
export class SnsInbox {
  readonly #options: SnsInboxOptions;
  readonly #certificates = new Map<string, X509Certificate>();

  constructor(options: SnsInboxOptions) {
    this.#options = options;
  }

  /**
   * What a notification says; null for a message that only asked to be confirmed, which it is then. Errors: 400 for what
   * SNS did not send to us, 502 when SNS does not answer.
   */
  async open(text: string): Promise<string | null> {
    const message = messageOf(text);
    const origin = this.#originOf(message.TopicArn);
    const { Type: type } = message;
    if (!Object.hasOwn(signedFields, type)) throw forged('its type');
    await this.#check(message, type as MessageType, origin);
    if (type === 'Notification') return message.Message ?? '';
    const { logger } = this.#options;
    const { TopicArn: topicArn } = message;
    if (type === 'SubscriptionConfirmation') {
      await this.#confirm(message, origin);
      logger.info({ topicArn }, 'a subscription to a topic of Amazon SNS was confirmed');
    } else {
      logger.warn(
        { topicArn },
        'a topic of Amazon SNS sends no messages here any more: somebody unsubscribed',
      );
    }
    return null;
  }

  #originOf(topicArn: string): string {
    const { topicArns, origin } = this.#options;
    if (!topicArns.has(topicArn)) throw forged('its topic');
    const [, partition, region] = /^arn:(aws[a-z-]*):sns:([a-z0-9-]+):/.exec(topicArn) ?? [];
    return origin ?? `https://sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`;
  }

  async #check(message: SnsMessage, type: MessageType, origin: string): Promise<void> {
    const age = this.#options.clock.now() - Date.parse(message.Timestamp);
    if (!(Math.abs(age) <= ageMsMax)) throw forged('its time');
    // Version 1 signs with SHA-1, for which collisions are known.
    if (message.SignatureVersion !== '2')
      throw forged('the version of its signature: set SignatureVersion of the topic to 2');
    const lines = signedFields[type].flatMap((name) => {
      const value = message[name];
      return value === undefined ? [] : [name, value];
    });
    const signed = Buffer.from(`${lines.join('\n')}\n`);
    const { publicKey } = await this.#certificate(message.SigningCertURL, origin);
    if (!verify('RSA-SHA256', signed, publicKey, Buffer.from(message.Signature, 'base64'))) {
      throw forged('its signature');
    }
  }

  async #certificate(url: string, origin: string): Promise<X509Certificate> {
    if (!URL.canParse(url) || new URL(url).origin !== origin || !/^[^?#]+\.pem$/.test(url)) {
      throw forged('where its certificate is');
    }
    const known = this.#certificates.get(url);
    const certificate = known ?? certificateOf(await this.#ask(url));
    const now = this.#options.clock.now();
    if (Date.parse(certificate.validFrom) > now || Date.parse(certificate.validTo) < now) {
      throw forged('the age of its certificate');
    }
    if (this.#certificates.size >= certificatesMax) this.#certificates.clear();
    this.#certificates.set(url, certificate);
    return certificate;
  }

  async #confirm({ SubscribeURL: url = '' }: SnsMessage, origin: string): Promise<void> {
    if (!URL.canParse(url) || new URL(url).origin !== origin) throw forged('where it is confirmed');
    await this.#ask(url);
  }

  async #ask(url: string): Promise<string> {
    try {
      const { status, text } = await fetchText(url, {}, { ...bounds, fetch: this.#options.fetch });
      if (status === 200) return text;
      throw new Error(`it answered ${status}`);
    } catch (cause) {
      throw troubled(cause);
    }
  }
}

interface SnsMessage {
  readonly Type: string;
  readonly TopicArn: string;
  readonly Timestamp: string;
  readonly SignatureVersion: string;
  readonly Signature: string;
  readonly SigningCertURL: string;
  readonly Message?: string;
  readonly MessageId?: string;
  readonly Subject?: string;
  readonly SubscribeURL?: string;
  readonly Token?: string;
}

const needed = ['Type', 'TopicArn', 'Timestamp', 'SignatureVersion', 'Signature', 'SigningCertURL'] as const;

/** The strings of a message; what it has besides is not signed and not looked at. */
function messageOf(text: string): SnsMessage {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new AppError('bad_request', 'This is no message of Amazon SNS.', { cause });
  }
  const fields = Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {});
  const strings = Object.fromEntries(fields.filter(([, value]) => typeof value === 'string'));
  for (const name of needed) if (!Object.hasOwn(strings, name)) throw forged(`without ${name}`);
  return strings as unknown as SnsMessage;
}

function certificateOf(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (cause) {
    throw troubled(cause);
  }
}

function troubled(cause: unknown): AppError {
  const refused = egressRefusalIn(cause);
  if (refused !== null) return refusedByEgress('Amazon SNS', refused);
  return new AppError('bad_gateway', 'Amazon SNS does not answer as it should.', { cause });
}

function forged(what: string): AppError {
  return new AppError('bad_request', 'This message is not from a topic of this server.', {
    privateDetails: { refused: what },
  });
}
