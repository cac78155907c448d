// Numbers from 0 to 1, the same for the same seed on every machine (mulberry32).
export function random(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Normally distributed numbers of mean 0 (Box and Muller).
export function fillNormal(out, deviation, next) {
  for (let i = 0; i < out.length; i++) {
    const length = Math.sqrt(-2 * Math.log(1 - next()));
    out[i] = deviation * length * Math.cos(2 * Math.PI * next());
  }
}
