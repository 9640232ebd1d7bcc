/** A point on the earth, in degrees (WGS 84). */
export interface GeoPoint {
  /** -90 to 90. */
  readonly lat: number;
  /** -180 to 180. */
  readonly lon: number;
}

type Vector = readonly [x: number, y: number, z: number];

/** An area between two latitudes that contains the points for which a second condition holds as well. */
export type GeoArea = {
  readonly south: number;
  readonly north: number;
} & (
  | {
      readonly kind: 'radius';
      /** Center on the unit sphere. */
      readonly center: Vector;
      /** Greatest square of the straight distance to the center. */
      readonly squareMax: number;
    }
  | {
      readonly kind: 'box';
      readonly west: number;
      /** Below `west` if the box crosses the antimeridian. */
      readonly east: number;
    }
);

/** Mean radius (IUGG). */
const earthMeters = 6_371_008.8;
/** Degrees added to the latitudes of a circle, so that rounding excludes no point; the distance decides. */
const margin = 1e-9;

/** Returns the point on the unit sphere. */
export function toUnitSphere({ lat, lon }: GeoPoint): Vector {
  const [phi, lambda] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
  const radius = Math.cos(phi);
  return [radius * Math.cos(lambda), radius * Math.sin(lambda), Math.sin(phi)];
}

/** Returns the points within `meters` of the center, on a sphere. */
export function createRadius(center: GeoPoint, meters: number): GeoArea {
  const angle = Math.min(meters / earthMeters, Math.PI);
  const degrees = (angle * 180) / Math.PI + margin;
  const chord = 2 * Math.sin(angle / 2);
  return {
    kind: 'radius',
    center: toUnitSphere(center),
    // All points, although the straight distance of two opposite ones is rounded.
    squareMax: angle === Math.PI ? Number.MAX_VALUE : chord * chord,
    south: Math.max(-90, center.lat - degrees),
    north: Math.min(90, center.lat + degrees),
  };
}

/** Computes exactly as `IsInArea` of native/engine/typed_values.cc, so that both agree on every point. */
export function isInArea(point: GeoPoint, area: GeoArea): boolean {
  if (point.lat < area.south || point.lat > area.north) return false;
  if (area.kind === 'box') {
    const { west, east } = area;
    return west <= east ? point.lon >= west && point.lon <= east : point.lon >= west || point.lon <= east;
  }
  const position = toUnitSphere(point);
  let square = 0;
  for (let i = 0; i < 3; i++) {
    const difference = position[i]! - area.center[i]!;
    square += difference * difference;
  }
  return square <= area.squareMax;
}
