// The tree of the Debian package: the application below /usr/lib/quarry, the service, manual page and completions.
import { mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { run } from './run.js';
import { copyFile, copyFolder, writeText } from './stage-application.js';

const completions = {
  bash: 'usr/share/bash-completion/completions/quarry',
  zsh: 'usr/share/zsh/vendor-completions/_quarry',
  fish: 'usr/share/fish/vendor_completions.d/quarry.fish',
};

export function stageDebian({ root, application, folder, manifest, manPage }) {
  const sources = join(root, 'packaging', 'debian');
  copyFolder(application, join(folder, 'usr', 'lib', 'quarry'));
  for (const unit of ['quarry.service', 'quarry.socket'])
    copyFile(join(sources, unit), join(folder, 'usr', 'lib', 'systemd', 'system', unit));
  copyFile(join(sources, 'quarry.env'), join(folder, 'etc', 'quarry', 'quarry.env'), 0o640);
  copyFile(join(sources, 'copyright'), join(folder, 'usr', 'share', 'doc', 'quarry', 'copyright'));
  writeText(join(folder, 'usr', 'share', 'man', 'man1', 'quarry.1.gz'), gzipSync(manPage, { level: 9 }));
  mkdirSync(join(folder, 'usr', 'bin'), { recursive: true });
  symlinkSync('../lib/quarry/quarry', join(folder, 'usr', 'bin', 'quarry'));
  for (const [shell, path] of Object.entries(completions))
    writeText(join(folder, path), run(process.execPath, [join(root, 'dist/src/cli/main.js'), 'completion', shell]));
  for (const script of ['postinst', 'prerm', 'postrm'])
    copyFile(join(sources, script), join(folder, 'DEBIAN', script), 0o755);
  writeText(join(folder, 'DEBIAN', 'conffiles'), '/etc/quarry/quarry.env\n');
  writeText(join(folder, 'DEBIAN', 'control'), control(manifest, installedSizeOf(folder)));
  run('chmod', ['-R', 'u+rwX,go+rX,go-w', folder]);
}

/** The versions of the libraries are those that the prebuilt RocksDB needs. */
function control({ version, description }, installedSize) {
  return `Package: quarry
Version: ${version}
Section: database
Priority: optional
Architecture: amd64
Installed-Size: ${installedSize}
Depends: libc6 (>= 2.34), libgcc-s1, libstdc++6 (>= 12), passwd
Recommends: bubblewrap, ca-certificates
Suggests: tesseract-ocr, libreoffice-writer-nogui, libreoffice-impress-nogui, poppler-utils
Maintainer: Quarry developers <quarry@localhost>
Description: self-hosted document retrieval server
 ${description}
`;
}

/** As Policy 5.6.20 defines it: each file rounded up to a KiB. */
function installedSizeOf(folder) {
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => Math.ceil(statSync(join(entry.parentPath, entry.name)).size / 1024));
  return sizes.reduce((sum, size) => sum + size, 0);
}
