// Products of matrices on plain typed arrays. Scripts of the live page that need no page are functions
// in `sources`: the page can run them, and their text makes the worker (see worker.js).
(function (root) {
  "use strict";
  const live = ((root.Circuits ??= {}).live ??= { sources: [] });

  live.sources.push(function (T) {
    "use strict";
    // out [n, wide] += A [n, deep] times B [wide, deep] transposed; `wide` is a multiple of 4.
    // Four rows of A at a time, which is three times as fast as one; then the rows that are left.
    T.addProduct = function (out, A, B, n, deep, wide) {
      const fours = n - (n % 4);
      for (let j = 0; j < wide; j += 2) addTiles(out, A, B, fours, deep, wide, j);
      for (let i = fours; i < n; i++) addRow(out, A, B, i, deep, wide);
      return out;
    };

    function addTiles(out, A, B, fours, deep, wide, j) {
      const b0 = j * deep;
      const b1 = b0 + deep;
      for (let i = 0; i < fours; i += 4) {
        const a0 = i * deep;
        const a1 = a0 + deep;
        const a2 = a1 + deep;
        const a3 = a2 + deep;
        let s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
        for (let k = 0; k < deep; k++) {
          const left = B[b0 + k];
          const right = B[b1 + k];
          const x0 = A[a0 + k];
          const x1 = A[a1 + k];
          const x2 = A[a2 + k];
          const x3 = A[a3 + k];
          s00 += x0 * left;
          s01 += x0 * right;
          s10 += x1 * left;
          s11 += x1 * right;
          s20 += x2 * left;
          s21 += x2 * right;
          s30 += x3 * left;
          s31 += x3 * right;
        }
        const row = i * wide + j;
        out[row] += s00;
        out[row + 1] += s01;
        out[row + wide] += s10;
        out[row + wide + 1] += s11;
        out[row + 2 * wide] += s20;
        out[row + 2 * wide + 1] += s21;
        out[row + 3 * wide] += s30;
        out[row + 3 * wide + 1] += s31;
      }
    }

    function addRow(out, A, B, i, deep, wide) {
      const a = i * deep;
      for (let j = 0; j < wide; j += 4) {
        const b0 = j * deep;
        const b1 = b0 + deep;
        const b2 = b1 + deep;
        const b3 = b2 + deep;
        let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (let k = 0; k < deep; k++) {
          const x = A[a + k];
          s0 += x * B[b0 + k];
          s1 += x * B[b1 + k];
          s2 += x * B[b2 + k];
          s3 += x * B[b3 + k];
        }
        const row = i * wide + j;
        out[row] += s0;
        out[row + 1] += s1;
        out[row + 2] += s2;
        out[row + 3] += s3;
      }
    }

    T.dot = function (a, i, b, j, length) {
      let sum = 0;
      for (let k = 0; k < length; k++) sum += a[i + k] * b[j + k];
      return sum;
    };

    // out [columns] = v [rows] times the block of M that begins at row `top` and column `left`; M is
    // `wide` wide. So a vector of what the block writes becomes one of what it reads.
    T.pullBack = function (v, M, { top = 0, left = 0, rows, columns, wide }) {
      const out = new Float32Array(columns);
      for (let r = 0; r < rows; r++) {
        const from = (top + r) * wide + left;
        for (let c = 0; c < columns; c++) out[c] += v[r] * M[from + c];
      }
      return out;
    };

    // out [rows] = the same block times v [columns].
    T.push = function (v, M, { top = 0, left = 0, rows, columns, wide }) {
      return Float32Array.from({ length: rows }, (_, r) => T.dot(M, (top + r) * wide + left, v, 0, columns));
    };
  });
})(globalThis);
