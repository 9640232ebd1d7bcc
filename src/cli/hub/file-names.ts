/** Maximum length of a path that a tar header of the USTAR format can hold in any case. */
const pathLengthMax = 100;
const segmentPattern = /^(?!\.{1,2}$)[\w.][\w.+ -]*$/;

/** Whether a path from the hub or from a bundle stays inside the folder that it is joined to, on any system. */
export function isSafePath(path: string): boolean {
  return path.length <= pathLengthMax && path.split('/').every((segment) => segmentPattern.test(segment));
}
