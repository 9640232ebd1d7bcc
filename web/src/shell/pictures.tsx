/** Small pictures beside words, drawn on a grid of 16 by 16. They say nothing that the words do not say. */

const paths = {
  overview: 'M2.500 13.500V8M6.200 13.500V3.500M9.800 13.500V6.500M13.500 13.500V10',
  collections: 'M2.500 5l5.500-2.500L13.500 5 8 7.500zM2.500 8L8 10.500 13.500 8M2.500 11L8 13.500 13.500 11',
  documents: 'M4 1.800h5.500L12.500 5v9.200H4zM9.300 2v3.200h3M6 8.500h4.500M6 11h4.500',
  upload: 'M8 10.500V2.800M4.800 5.800L8 2.600l3.200 3.200M2.800 10.500v2.700h10.400v-2.700',
  playground: 'M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM10.300 10.300l3.400 3.400',
  keys: 'M9.500 6.500a3 3 0 1 0-2.300 2.900L8.500 9.500 9 11h1.500v1.500H12V14h2v-2.200L9.300 7.500',
  members:
    'M6 7.500a2.400 2.400 0 1 0 0-4.800 2.400 2.400 0 0 0 0 4.800zM1.800 13.300c.4-2.500 2-3.800 4.200-3.800s3.800 1.300 4.200 3.800M10.500 3.100a2.300 2.300 0 0 1 0 4.200M12 9.900c1.300.5 2 1.700 2.300 3.400',
  usage: 'M1.800 9.500h2.700L6.500 3l3 10 2-5.500h2.700',
  audit: 'M3 3.500h10M3 6.500h10M3 9.500h6M3 12.500h4M11 12l1.200 1.200L14.500 11',
  billing: 'M1.800 4h12.400v8.500H1.800zM1.800 6.800h12.400M4 10h2.500',
  settings:
    'M2 4.500h7M12 4.500h2M2 11.500h2M7 11.500h7M10.500 6.300a1.800 1.800 0 1 0 0-3.600 1.800 1.800 0 0 0 0 3.600zM5.500 13.300a1.800 1.800 0 1 0 0-3.600 1.800 1.800 0 0 0 0 3.600z',
  menu: 'M2.500 4.500h11M2.500 8h11M2.500 11.500h11',
  down: 'M4.500 6.500L8 10l3.500-3.500',
  check: 'M3.500 8.500l3 3 6-7',
  plus: 'M8 3v10M3 8h10',
  file: 'M4 1.800h5.500L12.500 5v9.200H4zM9.300 2v3.200h3',
  folder: 'M1.800 12.800V3.500h4l1.500 1.800h6.900v7.500z',
  more: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  previous: 'M9.500 4L5.500 8l4 4',
  next: 'M6.500 4l4 4-4 4',
} as const;

export type PictureName = keyof typeof paths;

export function Picture({ of }: { readonly of: PictureName }) {
  return (
    <svg class="picture" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[of]} />
    </svg>
  );
}
