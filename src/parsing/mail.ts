/** A mail as text: what EML and MSG files have in common. */

export interface Mail {
  readonly subject: string | null;
  /** Names and values in the order of the page, for example `From`; empty values are left out. */
  readonly fields: readonly (readonly [string, string | null])[];
  readonly body: string;
  /** Names of what is attached; its content is not read. */
  readonly attachments: readonly string[];
}

/** Attachments that are named; a mail with more says how many. */
const attachmentsNamedMax = 1_000;

/** The subject as heading, the fields, the body, the names of the attachments. */
export function mailPage({ subject, fields, body, attachments }: Mail): string {
  const head = fields.filter(([, value]) => oneLine(value) !== '');
  const named = attachments.slice(0, attachmentsNamedMax).map((name) => `Attachment: ${oneLine(name)}`);
  const rest = attachments.length - named.length;
  const blocks = [
    oneLine(subject) === '' ? '' : `# ${oneLine(subject)}`,
    head.map(([name, value]) => `${name}: ${oneLine(value)}`).join('\n'),
    body.replace(/\r\n?/g, '\n').trim(),
    [...named, ...(rest > 0 ? [`And ${rest} more attachments`] : [])].join('\n'),
  ];
  return blocks.filter((block) => block !== '').join('\n\n');
}

function oneLine(text: string | null): string {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}
