import { isIP, isIPv4 } from 'node:net';
import { AppError } from '../core/app-error.ts';
import type { Exchange } from './exchange.ts';

export interface OriginSettings {
  /** `https://host`, without a trailing slash; null derives it from each request. */
  readonly baseUrl: string | null;
  /** Trust `x-forwarded-*`. Only safe behind a proxy that sets these headers itself. */
  readonly trustProxy: boolean;
}

const hostPattern = /^[A-Za-z0-9._\-:[\]]{1,255}$/;

/**
 * Returns the origin of URLs in replies. Errors: `bad_request` when it would come from an invalid Host
 * header.
 */
export function resolveBaseUrl(exchange: Exchange, settings: OriginSettings): string {
  if (settings.baseUrl !== null) return settings.baseUrl;
  const forwardedHost = settings.trustProxy ? lastEntry(exchange.header('x-forwarded-host')) : undefined;
  const forwardedProtocol = settings.trustProxy ? lastEntry(exchange.header('x-forwarded-proto')) : undefined;
  const host = forwardedHost ?? exchange.header('host') ?? '';
  if (!hostPattern.test(host)) {
    throw new AppError('bad_request', 'The Host header is missing or invalid.');
  }
  const isSecure = exchange.isSecure || forwardedProtocol === 'https';
  return `${isSecure ? 'https' : 'http'}://${host}`;
}

/** Returns the address of the client; behind a trusted proxy, the address that the proxy reports. */
export function resolveClientAddress(exchange: Exchange, { trustProxy }: OriginSettings): string {
  const forwarded = trustProxy ? lastEntry(exchange.header('x-forwarded-for')) : undefined;
  return normalizeAddress(
    forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : exchange.clientAddress,
  );
}

/** Converts an IPv4-mapped IPv6 address, compressed or not, to IPv4; returns all others unchanged. */
export function normalizeAddress(address: string): string {
  const mapped = /^(?:::|(?:0{1,4}:){5})ffff:(.+)$/i.exec(address)?.[1];
  if (mapped === undefined) return address;
  if (isIPv4(mapped)) return mapped;
  const halves = /^([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(mapped)?.slice(1);
  if (halves === undefined) return address;
  return halves
    .flatMap((half) => [Number.parseInt(half, 16) >> 8, Number.parseInt(half, 16) & 255])
    .join('.');
}

const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/**
 * Whether the request comes from a program on this machine and is addressed to this machine. A local proxy
 * may forward requests from anywhere without adding a header, but the forwarded Host is the public or
 * upstream name, unless the proxy rewrites `Host` to a loopback name. Always false behind a trusted proxy or
 * with a public base URL.
 */
export function isLocalRequest(exchange: Exchange, { baseUrl, trustProxy }: OriginSettings): boolean {
  if (trustProxy || (baseUrl !== null && !isLoopbackHost(new URL(baseUrl).host))) return false;
  if (forwardingHeaders.some((name) => exchange.header(name) !== undefined)) return false;
  return isLoopback(exchange.clientAddress) && isLoopbackHost(exchange.header('host') ?? '');
}

/** Whether the host is `localhost`, 127.0.0.0/8 or ::1, with or without a port. */
function isLoopbackHost(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return hostname === 'localhost' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'));
}

/** Whether the address is in 127.0.0.0/8, mapped into IPv6 or not, or is ::1, compressed or not. */
export function isLoopback(address: string): boolean {
  const plain = normalizeAddress(address);
  if (isIPv4(plain)) return plain.startsWith('127.');
  return address === '::1' || address === '0000:0000:0000:0000:0000:0000:0000:0001';
}

/** Proxies append, so the last entry is the one written by the nearest, trusted proxy. */
function lastEntry(list: string | undefined): string | undefined {
  const entry = list?.split(',').at(-1)?.trim();
  return entry === '' ? undefined : entry;
}
