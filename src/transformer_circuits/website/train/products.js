// What the model that learns in the tab is computed with: products of matrices, and random numbers.
//
// The files products.js, model.js and training.js each put one function into `sources`. The page
// writes these functions into a worker as text, for a page opened from a file can load no module.
(function (root) {
  "use strict";
  const train = ((root.Circuits ??= {}).train ??= { sources: [] });

  train.sources.push(function (T) {
    "use strict";

    function dot(a, i, b, j, length) {
      let sum = 0;
      for (let k = 0; k < length; k++) sum += a[i + k] * b[j + k];
      return sum;
    }

    // out[i …] += factor times b[j …].
    function addRow(out, i, factor, b, j, length) {
      for (let k = 0; k < length; k++) out[i + k] += factor * b[j + k];
    }

    // out[i …] += four rows of b, from j on, each times its own factor: faster than one by one.
    function addRows(out, i, f0, f1, f2, f3, b, j, length) {
      for (let k = 0; k < length; k++) {
        const at = j + k;
        out[i + k] += f0 * b[at] + f1 * b[at + length] + f2 * b[at + 2 * length] + f3 * b[at + 3 * length];
      }
    }

    // out [n, wide] += A [n, deep] times B [wide, deep] transposed.
    T.addTimesTransposed = function (out, A, B, n, deep, wide) {
      for (let i = 0; i < n; i++) {
        const a = i * deep;
        let j = 0;
        for (; j + 3 < wide; j += 4) {
          const b = j * deep;
          let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
          for (let k = 0; k < deep; k++) {
            const value = A[a + k];
            s0 += value * B[b + k];
            s1 += value * B[b + deep + k];
            s2 += value * B[b + 2 * deep + k];
            s3 += value * B[b + 3 * deep + k];
          }
          const to = i * wide + j;
          out[to] += s0;
          out[to + 1] += s1;
          out[to + 2] += s2;
          out[to + 3] += s3;
        }
        for (; j < wide; j++) out[i * wide + j] += dot(A, a, B, j * deep, deep);
      }
      return out;
    };

    // out [n, wide] += A [n, deep] times B [deep, wide].
    T.addTimes = function (out, A, B, n, deep, wide) {
      for (let i = 0; i < n; i++) {
        let k = 0;
        for (; k + 3 < deep; k += 4) {
          const a = i * deep + k;
          addRows(out, i * wide, A[a], A[a + 1], A[a + 2], A[a + 3], B, k * wide, wide);
        }
        for (; k < deep; k++) addRow(out, i * wide, A[i * deep + k], B, k * wide, wide);
      }
      return out;
    };

    // out [deep, wide] += A [n, deep] transposed times B [n, wide].
    T.addTransposedTimes = function (out, A, B, n, deep, wide) {
      let i = 0;
      for (; i + 3 < n; i += 4) {
        for (let k = 0; k < deep; k++) {
          const a = i * deep + k;
          addRows(out, k * wide, A[a], A[a + deep], A[a + 2 * deep], A[a + 3 * deep], B, i * wide, wide);
        }
      }
      for (; i < n; i++) {
        for (let k = 0; k < deep; k++) addRow(out, k * wide, A[i * deep + k], B, i * wide, wide);
      }
      return out;
    };

    Object.assign(T, { dot, addRow });

    // Numbers from 0 to 1, the same for the same seed on every machine (mulberry32).
    T.random = function (seed) {
      let state = seed | 0;
      return function () {
        state = (state + 0x6d2b79f5) | 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
      };
    };

    // Normally distributed numbers of mean 0 (Box and Muller).
    T.fillNormal = function (out, deviation, random) {
      for (let i = 0; i < out.length; i++) {
        const length = Math.sqrt(-2 * Math.log(1 - random()));
        out[i] = deviation * length * Math.cos(2 * Math.PI * random());
      }
      return out;
    };
  });
})(globalThis);
