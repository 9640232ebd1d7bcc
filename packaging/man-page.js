// quarry(1), from the table of commands.

/** Returns the page in the man format. `commands` and the other tables are those of src/cli. */
export function createManPage({ commands, commandGroups, exitCodeMeanings, version, seconds }) {
  const date = new Date(seconds * 1000).toISOString().slice(0, 10);
  return [
    `.TH QUARRY 1 "${date}" "quarry ${version}" "User Commands"`,
    '.SH NAME',
    'quarry \\- self\\-hosted document retrieval server and its command line',
    '.SH SYNOPSIS',
    '.B quarry',
    '.I command',
    '[\\fIoption\\fR ...]',
    '.SH DESCRIPTION',
    'Quarry stores documents and finds the snippets, pages and documents that answer a question.',
    'Client commands use the server at \\fB\\-\\-url\\fR or \\fBQUARRY_URL\\fR and the key in \\fB\\-\\-key\\fR or',
    '\\fBQUARRY_API_KEY\\fR.',
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...exitCodeMeanings.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, escapeText(capital(meaning))]),
    '.SH FILES',
    ...['.TP', '.I /etc/quarry/quarry.env', 'settings of the service, as variables; \\fBquarry config\\fR lists all'],
    ...['.TP', '.I /var/lib/quarry', 'data directory of the service'],
    '.SH SEE ALSO',
    `Command groups: ${Object.keys(commandGroups).join(', ')}. The server has the whole documentation at \\fI/docs\\fR.`,
    '',
  ].join('\n');
}

function commandLines({ usage, summary, options = [], examples }) {
  return [
    ...['.SS', escapeText(`quarry ${usage}`), escapeText(`${capital(summary)}.`)],
    ...options.flatMap(({ flags, meaning }) => ['.TP', `.B ${escapeText(flags)}`, escapeText(capital(meaning))]),
    ...['.PP', '.nf', ...examples.map(escapeText), '.fi'],
  ];
}

/** A dash would become a hyphen, a leading dot or apostrophe a request; other letters than ASCII need a name. */
function escapeText(text) {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')
    .replace(/[^\n -~]/gu, (letter) => `\\[u${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
