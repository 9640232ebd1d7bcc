import { domainToASCII } from 'node:url';
import { invalidFieldError } from '../core/app-error.ts';

/** RFC 5322's dot-atom without the characters that nobody's mailbox has and that mail programs read otherwise. */
const localPartPattern = /^[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+)*$/;
const domainPattern = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const localLengthMax = 64;
const lengthMax = 254;

/**
 * The one spelling of an address under which it is stored, compared and written to: small letters, the domain as
 * ASCII (an international one as `xn--`, so that a look-alike is another address). Errors: 422 under `body.email` for
 * anything but one plain address; a line break, a comma, a name or a comment beside it are none.
 */
export function normalizeEmail(text: string): string {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const domain = toAsciiDomain(text.slice(at + 1));
  // Looked at before it becomes small letters, which make a k of the Kelvin sign: another mailbox than k's.
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
    'is not an e-mail address such as ada@example.com',
    'value_error',
  );
}

/** Empty when it is none: what URL parsers take away in silence must not become an address. */
function toAsciiDomain(domain: string): string {
  if (domain.length > lengthMax || /[\s\p{Cc}\p{Cf}/\\?#@:%[\]]/u.test(domain)) return '';
  return domainToASCII(domain.toLowerCase());
}

/** Enough to recognise one's own address, too little to learn another's: `a…a@example.com`. */
export function maskEmail(email: string): string {
  const [local = '', domain = ''] = email.split('@');
  return local.length < 3 ? `…@${domain}` : `${local[0]}…${local.at(-1)}@${domain}`;
}
