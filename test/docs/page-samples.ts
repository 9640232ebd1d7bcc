/** The code samples on the pages of the documentation, as a reader sees them. */

export const sampleLanguages = ['curl', 'Node', 'Python'] as const;
export type PageSampleLanguage = (typeof sampleLanguages)[number];

export interface PageSample {
  /** Anchor of the section: the name of the operation. */
  readonly operation: string;
  readonly language: PageSampleLanguage;
  readonly code: string;
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

export function unescapeHtml(html: string): string {
  return html.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => entities[name] ?? '');
}

/** Returns the code of each operation on a page, in the order of the page. */
export function findSamples(html: string): PageSample[] {
  return html
    .split('<section id="')
    .slice(1)
    .flatMap((section) => {
      const operation = section.slice(0, section.indexOf('"'));
      return sampleLanguages.map((language) => ({
        operation,
        language,
        code: findBlock(section, language),
      }));
    });
}

/** Returns the sample replies of a page by operation. */
export function findSampleReplies(html: string): Map<string, string> {
  const sections = html.split('<section id="').slice(1);
  return new Map(
    sections
      .filter((section) => section.includes('<summary>Sample reply</summary>'))
      .map((section) => [section.slice(0, section.indexOf('"')), findBlock(section, 'Sample reply')]),
  );
}

function findBlock(section: string, summary: string): string {
  const start = `<summary>${summary}</summary><pre tabindex="0"><code>`;
  const at = section.indexOf(start);
  if (at === -1) throw new Error(`the section has no block "${summary}"`);
  return unescapeHtml(section.slice(at + start.length, section.indexOf('</code>', at)));
}
