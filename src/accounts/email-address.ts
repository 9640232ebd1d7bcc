import { domainToASCII } from 'node:url';
import { invalidFieldError } from '../core/app-error.ts';

/** RFC 5322 dot-atom, without characters that are not used in mailboxes and that mail programs interpret. */
const localPartPattern = /^[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+)*$/;
const domainPattern = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const localLengthMax = 64;
const lengthMax = 254;

/**
 * Returns the canonical form of an address, in which it is stored, compared and used as recipient: lower
 * case, with the domain in ASCII (`xn--` for international domains, so that a look-alike is a different
 * address). Errors: 422 under `body.email` for anything but one plain address, such as text with a line
 * break, comma, display name or comment.
 */
export function normalizeEmail(text: string): string {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const domain = toAsciiDomain(text.slice(at + 1));
  // The local part is validated before lower-casing, which turns the Kelvin sign into `k`: a different
  // mailbox.
  const email = `${local.toLowerCase()}@${domain}`;
  const isValid =
    at > 0 &&
    local.length <= localLengthMax &&
    email.length <= lengthMax &&
    localPartPattern.test(local) &&
    domainPattern.test(domain);
  if (isValid) return email;
  throw invalidFieldError(
    ['body', 'email'],
    'is not a valid email address, such as ada@example.com',
    'value_error',
  );
}

/**
 * Returns an empty string for an invalid domain. URL parsers silently drop some characters, which must not
 * produce a valid address.
 */
function toAsciiDomain(domain: string): string {
  if (domain.length > lengthMax || /[\s\p{Cc}\p{Cf}/\\?#@:%[\]]/u.test(domain)) return '';
  return domainToASCII(domain.toLowerCase());
}

/** Returns a form that lets the owner recognize the address but does not reveal it: `a…a@example.com`. */
export function maskEmail(email: string): string {
  const [local = '', domain = ''] = email.split('@');
  return local.length < 3 ? `…@${domain}` : `${local[0]}…${local.at(-1)}@${domain}`;
}
