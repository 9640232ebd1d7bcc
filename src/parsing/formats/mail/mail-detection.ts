import type { SourceFile } from '../../source-file.ts';

/**
 * Whether the file is a mail: it starts with a block of header lines, and is either named `.eml` or has
 * headers that only a mail program writes. A mail saved with the `From ` line of a mailbox is also one,
 * unless other messages follow.
 */
export function isMail(file: SourceFile, isNamed: boolean): boolean {
  const { head } = file;
  return head !== null && (hasMailHeaders(head, isNamed) || isSingleMailboxMessage(head, file));
}

function hasMailHeaders(head: string, isNamed: boolean): boolean {
  const block =
    /^(?:[A-Za-z][A-Za-z0-9-]*:[^\n]*\n(?:[ \t][^\n]*\n)*)+/.exec(head.replaceAll('\r\n', '\n'))?.[0] ?? '';
  if (isNamed) return block !== '';
  const sender = /^From:/im.test(block);
  return sender && /^(MIME-Version|Message-ID|Received|Return-Path|Delivered-To):/im.test(block);
}

function isSingleMailboxMessage(head: string, file: SourceFile): boolean {
  if (!isMailbox(head)) return false;
  return !/\n\r?\nFrom \S+.*\r?\n[A-Za-z-]+: /.test(file.readLatin1(file.bytes.length));
}

/** Whether the text starts with the `From ` line of a mailbox. */
export function isMailbox(head: string): boolean {
  return /^From \S+.*\r?\n[A-Za-z-]+: /.test(head);
}
