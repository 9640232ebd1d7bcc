import { verify, X509Certificate } from 'node:crypto';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { type Egress, egressDeniedError, findEgressDenial } from '../egress/egress.ts';
import { fetchText } from './fetch-text.ts';

export interface SnsReceiverOptions {
  /** Trusted topics: `arn:aws:sns:<region>:<account>:<name>`. */
  readonly topicArns: ReadonlySet<string>;
  /** Origin of certificates and confirmation URLs; null for SNS in the region of the topic. */
  readonly origin: string | null;
  readonly fetch: Egress['fetch'];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Signed fields in signing order. */
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
/** SNS retries for an hour, so an older message is a replay. */
const ageMsMax = 3_600_000;
const fetchLimits = { msMax: limits.marketplaceCallMsMax, bytesMax: 65_536 };

/**
 * Receives messages of Amazon SNS. A message is trusted if it comes from a configured topic and is signed
 * with a certificate served by SNS itself.
 */
export class SnsReceiver {
  readonly #options: SnsReceiverOptions;
  readonly #certificates = new Map<string, X509Certificate>();

  constructor(options: SnsReceiverOptions) {
    this.#options = options;
  }

  /**
   * Returns the text of a notification; null for a control message. A subscription confirmation is confirmed.
   * Errors: 400 for a message not sent by SNS to this server; 502 if SNS does not answer.
   */
  async receive(text: string): Promise<string | null> {
    const message = parseMessage(text);
    const origin = this.#snsOriginOf(message.TopicArn);
    const { Type: type } = message;
    if (!Object.hasOwn(signedFields, type)) throw untrustedMessageError('type');
    await this.#verifyMessage(message, type as MessageType, origin);
    if (type === 'Notification') return message.Message ?? '';
    const { logger } = this.#options;
    const { TopicArn: topicArn } = message;
    if (type === 'SubscriptionConfirmation') {
      await this.#confirmSubscription(message, origin);
      logger.info({ topicArn }, 'SNS subscription confirmed');
    } else {
      logger.warn({ topicArn }, 'SNS subscription removed: the topic sends no more messages');
    }
    return null;
  }

  #snsOriginOf(topicArn: string): string {
    const { topicArns, origin } = this.#options;
    if (!topicArns.has(topicArn)) throw untrustedMessageError('topic');
    const [, partition, region] = /^arn:(aws[a-z-]*):sns:([a-z0-9-]+):/.exec(topicArn) ?? [];
    return origin ?? `https://sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`;
  }

  async #verifyMessage(message: SnsMessage, type: MessageType, origin: string): Promise<void> {
    const age = this.#options.clock.now() - Date.parse(message.Timestamp);
    if (!(Math.abs(age) <= ageMsMax)) throw untrustedMessageError('timestamp');
    // Version 1 signs with SHA-1, which has known collisions.
    if (message.SignatureVersion !== '2')
      throw untrustedMessageError('signature version: set SignatureVersion of the topic to 2');
    const lines = signedFields[type].flatMap((name) => {
      const value = message[name];
      return value === undefined ? [] : [name, value];
    });
    const signed = Buffer.from(`${lines.join('\n')}\n`);
    const { publicKey } = await this.#getCertificate(message.SigningCertURL, origin);
    if (!verify('RSA-SHA256', signed, publicKey, Buffer.from(message.Signature, 'base64'))) {
      throw untrustedMessageError('signature');
    }
  }

  async #getCertificate(url: string, origin: string): Promise<X509Certificate> {
    if (!URL.canParse(url) || new URL(url).origin !== origin || !/^[^?#]+\.pem$/.test(url)) {
      throw untrustedMessageError('certificate URL');
    }
    const known = this.#certificates.get(url);
    const certificate = known ?? parseCertificate(await this.#fetchText(url));
    const now = this.#options.clock.now();
    if (Date.parse(certificate.validFrom) > now || Date.parse(certificate.validTo) < now) {
      throw untrustedMessageError('certificate validity period');
    }
    if (this.#certificates.size >= certificatesMax) this.#certificates.clear();
    this.#certificates.set(url, certificate);
    return certificate;
  }

  async #confirmSubscription({ SubscribeURL: url = '' }: SnsMessage, origin: string): Promise<void> {
    if (!URL.canParse(url) || new URL(url).origin !== origin) throw untrustedMessageError('confirmation URL');
    await this.#fetchText(url);
  }

  async #fetchText(url: string): Promise<string> {
    try {
      const { status, text } = await fetchText(url, {}, { ...fetchLimits, fetch: this.#options.fetch });
      if (status === 200) return text;
      throw new Error(`status ${status}`);
    } catch (cause) {
      throw unexpectedReplyError(cause);
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

const requiredFields = [
  'Type',
  'TopicArn',
  'Timestamp',
  'SignatureVersion',
  'Signature',
  'SigningCertURL',
] as const;

/** Returns the string fields of a message; other fields are not signed and are ignored. */
function parseMessage(text: string): SnsMessage {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not an Amazon SNS message.', { cause });
  }
  const fields = Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {});
  const strings = Object.fromEntries(fields.filter(([, value]) => typeof value === 'string'));
  for (const name of requiredFields)
    if (!Object.hasOwn(strings, name)) throw untrustedMessageError(`missing ${name}`);
  return strings as unknown as SnsMessage;
}

function parseCertificate(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (cause) {
    throw unexpectedReplyError(cause);
  }
}

function unexpectedReplyError(cause: unknown): AppError {
  const refused = findEgressDenial(cause);
  if (refused !== null) return egressDeniedError('Amazon SNS', refused);
  return new AppError('bad_gateway', 'Amazon SNS returned an unexpected reply. Send the message again.', {
    cause,
  });
}

function untrustedMessageError(invalidPart: string): AppError {
  return new AppError(
    'bad_request',
    'This message is not from a topic of this server. The operator sets the topics with QUARRY_AWS_TOPIC_ARNS.',
    { privateDetails: { refused: invalidPart } },
  );
}
