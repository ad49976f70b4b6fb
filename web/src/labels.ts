// Labels beside points: each at the nearest free position around its point, covering no other label or point.

export interface Spot {
  x: number;
  y: number;
}

export interface Label extends Spot {
  /** Whether it is far enough from its point to need a leader line. */
  far: boolean;
}

interface Size {
  width: number;
  height: number;
}

const TURNS = 16;
const RINGS = 9;
const STEP = 9;

/** Return the offset of each label's centre from its point; null if no near position is free. */
export function beside(spots: Spot[], label: Size, radius: number, within: Size): (Label | null)[] {
  const taken: Spot[] = [];
  const touches = (one: Spot, other: Spot, reach: Size): boolean =>
    Math.abs(one.x - other.x) < reach.width && Math.abs(one.y - other.y) < reach.height;
  const room = { width: label.width / 2 + radius, height: label.height / 2 + radius };
  const free = (at: Spot): boolean =>
    at.x >= label.width / 2 &&
    at.x <= within.width - label.width / 2 &&
    at.y >= label.height / 2 &&
    at.y <= within.height - label.height / 2 &&
    !spots.some((spot) => touches(at, spot, room)) &&
    !taken.some((other) => touches(at, other, label));
  return spots.map((spot) => {
    for (let ring = 0; ring < RINGS; ring += 1) {
      for (let turn = 0; turn < TURNS; turn += 1) {
        // First to the right, then further around, alternating sides.
        const angle = (Math.PI * 2 * (turn % 2 ? (turn + 1) / 2 : -turn / 2)) / TURNS;
        const [x, y] = [(room.width + 1 + ring * STEP) * Math.cos(angle), (room.height + 1 + ring * STEP) * Math.sin(angle)];
        const at = { x: spot.x + x, y: spot.y + y };
        if (free(at)) {
          taken.push(at);
          return { x, y, far: ring > 0 };
        }
      }
    }
    return null;
  });
}
