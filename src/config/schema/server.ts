import { logFormats, logLevels } from '../../core/log-levels.ts';
import {
  booleanSetting,
  enumSetting,
  integerSetting,
  optionalSetting,
  type Setting,
  secondsSetting,
  textSetting,
} from '../setting.ts';
import { issuerUrlAllowed, issuerUrlPattern } from './url-patterns.ts';

const keyPattern = /^[\x21-\x7e]{16,256}$/;
const keyAllowed = '16 to 256 printable ASCII characters without spaces';
const passwordHashPattern =
  /^\$argon2id\$v=19\$m=\d{4,7},t=\d{1,2},p=\d{1,2}\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/;

/** HTTP, authentication, mail and outgoing connections. */
export const serverSettings = {
  port: integerSetting(0, 65_535, 8720, { meaning: 'TCP port to listen on; 0 lets the system choose one' }),
  host: textSetting('127.0.0.1', {
    meaning: 'Address to listen on; 0.0.0.0 or :: also accepts connections from other machines',
  }),
  baseUrl: optionalSetting({
    pattern: /^https?:\/\/[^\s?#]+$/,
    meaning: 'Public URL of the server; file and image URLs start with it',
    allowed: 'an http:// or https:// URL without query or fragment',
    defaultMeaning: 'the Host header of each request',
  }),
  tlsCertificateFile: optionalSetting({
    meaning:
      'PEM file with the certificate of the server and the intermediate certificates; the server then speaks HTTPS only',
    allowed: 'a file',
    defaultMeaning: 'none: the server speaks HTTP',
  }),
  tlsKeyFile: optionalSetting({
    meaning: 'PEM file with the private key of QUARRY_TLS_CERTIFICATE_FILE, without a passphrase',
    allowed: 'a file',
    defaultMeaning: 'none',
  }),
  metricsListen: optionalSetting({
    pattern: /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):\d{1,5}$/,
    meaning:
      'Separate address of /metrics, /readyz and /healthz, for HTTP without a credential; /metrics and /readyz are then not served on QUARRY_PORT',
    allowed: 'host:port, for example 127.0.0.1:9720 or [::1]:9720',
    defaultMeaning: 'none: they are served on QUARRY_PORT',
  }),
  trustProxy: booleanSetting(false, {
    meaning: 'Trust the x-forwarded-* headers; enable only behind a proxy that sets them',
  }),
  http: enumSetting(['auto', 'uws', 'node'], 'auto', {
    meaning: 'HTTP server: uWebSockets.js, node:http, or the first of them that loads',
  }),
  mcp: enumSetting(['off', 'read', 'write'], 'read', {
    meaning:
      'Model Context Protocol at /mcp: off, tools that read (read), or also tools that add and delete documents (write)',
  }),
  apiKey: optionalSetting({
    pattern: keyPattern,
    meaning: 'serve: an API key of the first organization; other commands: the API key to send',
    allowed: keyAllowed,
    secret: true,
    defaultMeaning: 'a random key, printed at the first start',
  }),
  adminKey: optionalSetting({
    pattern: keyPattern,
    meaning: 'serve: the key for /v1/admin; other commands: the admin key to send',
    allowed: keyAllowed,
    secret: true,
    defaultMeaning: 'none: only a session of the administrator opens /v1/admin',
  }),
  adminPasswordHash: optionalSetting({
    pattern: passwordHashPattern,
    meaning: 'Hash of the administrator password for /api/admin/login',
    allowed: 'the output of `quarry hash-password`',
    secret: true,
    defaultMeaning: 'none: the administrator cannot sign in',
  }),
  signUp: enumSetting(['open', 'invited'], 'open', {
    meaning: 'Sign-up: open to everyone, or limited to invited addresses',
  }),
  passwordSignIn: enumSetting(['on', 'off'], 'on', {
    meaning: 'Sign-in with an email address and a password, which invited users can choose',
  }),
  passkeySignIn: enumSetting(['on', 'off'], 'on', {
    meaning:
      'Sign-in with passkeys, which users add to their accounts; needs https:// and a host name (QUARRY_BASE_URL or a trusted proxy), or localhost',
  }),
  ownedOrganisationsMax: integerSetting(0, 10_000, 10, {
    meaning: 'Organizations that one user may own; with 0, only the administrator creates organizations',
    unit: 'organizations',
  }),
  auditDays: integerSetting(0, 36_500, 365, {
    meaning: 'Retention of audit log entries; 0 keeps all entries',
    unit: 'days',
  }),
  mailUrl: optionalSetting({
    pattern: /^(smtps?:\/\/[^\s/]+\/?|file:\/\/\/[^\s]+|console:)$/,
    meaning: 'Transport for sign-in links and invitations',
    allowed:
      'smtp://user:password@host:587, smtps://user:password@host:465, file:///a/folder for .eml files, or console: to print them',
    secret: true,
    defaultMeaning: 'none: no email is sent',
  }),
  mailFrom: textSetting('quarry@localhost', {
    pattern: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
    meaning: 'Sender address of outgoing email',
    allowed: 'an email address without a display name',
  }),
  googleClientId: optionalSetting({
    meaning: 'Client ID from the OpenID Connect issuer, for /api/auth/google',
    defaultMeaning: 'none: this sign-in is disabled',
  }),
  googleClientSecret: optionalSetting({
    meaning: 'Client secret of QUARRY_GOOGLE_CLIENT_ID',
    secret: true,
    defaultMeaning: 'none',
  }),
  oidcIssuer: textSetting('https://accounts.google.com', {
    pattern: issuerUrlPattern,
    meaning: 'OpenID Connect issuer for /api/auth/google',
    allowed: issuerUrlAllowed,
  }),
  githubClientId: optionalSetting({
    meaning: 'Client ID from GitHub, for /api/auth/github',
    defaultMeaning: 'none: this sign-in is disabled',
  }),
  githubClientSecret: optionalSetting({
    meaning: 'Client secret of QUARRY_GITHUB_CLIENT_ID',
    secret: true,
    defaultMeaning: 'none',
  }),
  githubBaseUrl: textSetting('https://github.com', {
    pattern: issuerUrlPattern,
    meaning: 'URL of GitHub or of a GitHub Enterprise server',
    allowed: issuerUrlAllowed,
  }),
  egress: enumSetting(['configured', 'none'], 'configured', {
    meaning: 'Outgoing connections: only to hosts in the settings (configured), or none',
  }),
  egressHosts: optionalSetting({
    pattern:
      /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?(,(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?)*$/,
    meaning: 'Additional hosts for outgoing connections, such as endpoints of an identity provider',
    allowed: 'host or host:port, separated by commas',
    defaultMeaning: 'none',
  }),
  drainSeconds: secondsSetting(0, 3_600, 30, {
    meaning: 'Grace period for running requests after SIGTERM',
  }),
  slowQueryMs: integerSetting(0, 3_600_000, 0, {
    meaning: 'Queries that take at least this long are logged with their text, stages and plan; 0 logs none',
    unit: 'milliseconds',
  }),
  logLevel: enumSetting(logLevels, 'info', { meaning: 'Minimum level of log messages' }),
  logFormat: enumSetting(logFormats, 'auto', {
    meaning:
      'Format of log messages: on a terminal one line of text per warning, otherwise JSON (auto), or always JSON (json)',
  }),
} satisfies Record<string, Setting>;
