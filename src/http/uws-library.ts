import { createRequire } from 'node:module';
import { limits } from '../core/limits.ts';

/**
 * Subset of uWebSockets.js in use; its packages have no types. Rules of the library: a request is valid only
 * during its handler; a response is invalid after an abort and after its end; chunks of `onData` are reused;
 * writes outside the handler need a cork; a second request on a connection with an unanswered one ends the
 * connection.
 */
export interface UwsResponse {
  writeStatus(status: string): UwsResponse;
  writeHeader(name: string, value: string | Uint8Array): UwsResponse;
  /** Sends a piece of a body of unknown length; false: the rest waits in memory until `onWritable`. */
  write(chunk: Uint8Array): boolean;
  end(body: Uint8Array | string, close?: boolean): UwsResponse;
  endWithoutBody(): UwsResponse;
  tryEnd(chunk: Uint8Array, totalSize: number): [ok: boolean, done: boolean];
  getWriteOffset(): number;
  onWritable(listener: (offset: number) => boolean): UwsResponse;
  onAborted(listener: () => void): UwsResponse;
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
  getRemoteAddressAsText(): ArrayBuffer;
  cork(write: () => void): UwsResponse;
  pause(): void;
  resume(): void;
  close(): UwsResponse;
}

export interface UwsRequest {
  getUrl(): string;
  getQuery(): string | undefined;
  getCaseSensitiveMethod(): string;
  forEach(callback: (name: string, value: string) => void): void;
}

export interface UwsApp {
  any(pattern: string, handler: (response: UwsResponse, request: UwsRequest) => void): UwsApp;
  listen(host: string, port: number, options: number, listening: (socket: unknown) => void): UwsApp;
  /** Calls `listener` with 1 for each new connection and with -1 when it ends. */
  filter(listener: (response: unknown, change: number) => void): UwsApp;
  getDescriptor(): unknown;
  /** From now on, accepted connections are passed to the added apps in turn. */
  addChildAppDescriptor(descriptor: unknown): UwsApp;
  removeChildAppDescriptor(descriptor: unknown): UwsApp;
  close(): UwsApp;
}

export interface UwsLibrary {
  App(): UwsApp;
  /** Throws if the files are not accepted. Without files, the app can pass connections on only. */
  SSLApp(files: { readonly cert_file_name?: string; readonly key_file_name?: string }): UwsApp;
  us_socket_local_port(socket: unknown): number;
  us_listen_socket_close(socket: unknown): void;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

/** The library cannot be loaded; the message tells the operator why. */
export class UwsUnavailableError extends Error {
  override readonly name = 'UwsUnavailableError';
}

/**
 * Loads the upstream package if installed, else the republished one for this Node version. Errors:
 * UwsUnavailableError.
 */
export function loadUwsLibrary(): UwsLibrary {
  // The library reads its header limit only from the environment, when it is loaded.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(limits.headerBytesMax);
  const require = createRequire(import.meta.url);
  const major = process.versions.node.split('.')[0];
  const names = ['uWebSockets.js', `@uwsjs/${process.platform}-${process.arch}-${major}`];
  const reasons: string[] = [];
  for (const name of names) {
    try {
      return require(name) as UwsLibrary;
    } catch (error) {
      reasons.push(
        `${name}: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`,
      );
    }
  }
  throw new UwsUnavailableError(`uWebSockets.js does not load on this machine (${reasons.join('; ')})`);
}
