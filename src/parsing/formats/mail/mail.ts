/** A mail as text: what EML and MSG files have in common. */

export interface MailContent {
  readonly subject: string | null;
  /** Names and values in the order of the page, for example `From`; empty values are left out. */
  readonly fields: readonly (readonly [string, string | null])[];
  readonly body: string;
  /** Names of what is attached; its content is not read. */
  readonly attachments: readonly string[];
}

/** Attachments that are named; a mail with more says how many. */
const listedAttachmentsMax = 1_000;

/** The subject as heading, the fields, the body, the names of the attachments. */
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
