import { isIP, isIPv4 } from 'node:net';
import { AppError } from '../core/app-error.ts';
import type { Exchange } from './exchange.ts';

export interface OriginSettings {
  /** `https://host`, without a trailing slash; null takes what the request says. */
  readonly baseUrl: string | null;
  /** Believe `x-forwarded-*`: only behind a proxy that sets them itself. */
  readonly trustProxy: boolean;
}

const hostPattern = /^[A-Za-z0-9._\-:[\]]{1,255}$/;

/** What addresses in replies start with. Errors: `bad_request` when it depends on a Host header that is none. */
export function resolveBaseUrl(exchange: Exchange, settings: OriginSettings): string {
  if (settings.baseUrl !== null) return settings.baseUrl;
  const forwardedHost = settings.trustProxy ? lastEntry(exchange.header('x-forwarded-host')) : undefined;
  const forwardedProtocol = settings.trustProxy ? lastEntry(exchange.header('x-forwarded-proto')) : undefined;
  const host = forwardedHost ?? exchange.header('host') ?? '';
  if (!hostPattern.test(host)) {
    throw new AppError('bad_request', 'The Host header of the request is missing or not a host name.');
  }
  return `${forwardedProtocol === 'https' ? 'https' : 'http'}://${host}`;
}

/** Of whoever sent the request; behind a trusted proxy whom that proxy saw. */
export function resolveClientAddress(exchange: Exchange, { trustProxy }: OriginSettings): string {
  const forwarded = trustProxy ? lastEntry(exchange.header('x-forwarded-for')) : undefined;
  return normalizeAddress(
    forwarded !== undefined && isIP(forwarded) !== 0 ? forwarded : exchange.clientAddress,
  );
}

/** An IPv4 address that came mapped into IPv6, short or written out, as itself; every other one as it is. */
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
 * True when the request comes from a program on this machine and is meant for this machine. A proxy on this machine may
 * speak for the whole world and need not add a header, but what it passes on names the public host, or an upstream name,
 * where it does not rewrite `Host` to a loopback name. Behind a trusted proxy, or with a public base URL, no request is.
 */
export function isLocalRequest(exchange: Exchange, { baseUrl, trustProxy }: OriginSettings): boolean {
  if (trustProxy || (baseUrl !== null && !isLoopbackHost(new URL(baseUrl).host))) return false;
  if (forwardingHeaders.some((name) => exchange.header(name) !== undefined)) return false;
  return isLoopback(exchange.clientAddress) && isLoopbackHost(exchange.header('host') ?? '');
}

/** `localhost`, 127.0.0.0/8 or ::1, with or without a port. */
function isLoopbackHost(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return hostname === 'localhost' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'));
}

/** 127.0.0.0/8, ::1, and the first mapped into IPv6, short or written out. */
export function isLoopback(address: string): boolean {
  const plain = normalizeAddress(address);
  if (isIPv4(plain)) return plain.startsWith('127.');
  return address === '::1' || address === '0000:0000:0000:0000:0000:0000:0000:0001';
}

/** A proxy appends: the last entry is the one that the nearest, trusted proxy wrote. */
function lastEntry(list: string | undefined): string | undefined {
  const entry = list?.split(',').at(-1)?.trim();
  return entry === '' ? undefined : entry;
}
