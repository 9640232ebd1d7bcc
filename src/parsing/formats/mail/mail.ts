/** Content of a mail, shared by EML and MSG files. */

export interface MailContent {
  readonly subject: string | null;
  /** Names and values in page order, for example `From`; empty values are omitted. */
  readonly fields: readonly (readonly [string, string | null])[];
  readonly body: string;
  /** Names of attachments; their content is not included. */
  readonly attachments: readonly string[];
}

/** Maximum number of listed attachments; the number of further ones is reported. */
const listedAttachmentsMax = 1_000;

/** Formats a mail: the subject as heading, the fields, the body, and the attachment names. */
export function formatMailPage({ subject, fields, body, attachments }: MailContent): string {
  const head = fields.filter(([, value]) => toOneLine(value) !== '');
  const named = attachments.slice(0, listedAttachmentsMax).map((name) => `Attachment: ${toOneLine(name)}`);
  const rest = attachments.length - named.length;
  const blocks = [
    toOneLine(subject) === '' ? '' : `# ${toOneLine(subject)}`,
    head.map(([name, value]) => `${name}: ${toOneLine(value)}`).join('\n'),
    body.replace(/\r\n?/g, '\n').trim(),
    [...named, ...(rest > 0 ? [`And ${rest} more attachments`] : [])].join('\n'),
  ];
  return blocks.filter((block) => block !== '').join('\n\n');
}

function toOneLine(text: string | null): string {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}
