// Products of matrices on plain typed arrays, each of which holds one row after the other.

// The sum of `length` products of numbers of a, from i on, and of b, from j on.
export function dot(a, i, b, j, length) {
  let sum = 0;
  for (let k = 0; k < length; k++) sum += a[i + k] * b[j + k];
  return sum;
}

// out[i …] += factor times b[j …].
export function addRow(out, i, factor, b, j, length) {
  for (let k = 0; k < length; k++) out[i + k] += factor * b[j + k];
}

// out [n, wide] += A [n, deep] times B [wide, deep] transposed. Four rows of A and two of B at a time,
// which is three times as fast as one by one; then what is left.
export function addTimesTransposed(out, A, B, n, deep, wide) {
  const rows = n - (n % 4);
  const columns = wide - (wide % 2);
  for (let j = 0; j < columns; j += 2) {
    for (let i = 0; i < rows; i += 4) addTile(out, A, B, i, j, deep, wide);
  }
  for (let i = 0; i < n; i++) {
    for (let j = i < rows ? columns : 0; j < wide; j++) {
      out[i * wide + j] += dot(A, i * deep, B, j * deep, deep);
    }
  }
  return out;
}

function addTile(out, A, B, i, j, deep, wide) {
  const a0 = i * deep;
  const a1 = a0 + deep;
  const a2 = a1 + deep;
  const a3 = a2 + deep;
  const b0 = j * deep;
  const b1 = b0 + deep;
  let s00 = 0;
  let s01 = 0;
  let s10 = 0;
  let s11 = 0;
  let s20 = 0;
  let s21 = 0;
  let s30 = 0;
  let s31 = 0;
  for (let k = 0; k < deep; k++) {
    const left = B[b0 + k];
    const right = B[b1 + k];
    s00 += A[a0 + k] * left;
    s01 += A[a0 + k] * right;
    s10 += A[a1 + k] * left;
    s11 += A[a1 + k] * right;
    s20 += A[a2 + k] * left;
    s21 += A[a2 + k] * right;
    s30 += A[a3 + k] * left;
    s31 += A[a3 + k] * right;
  }
  const to = i * wide + j;
  out[to] += s00;
  out[to + 1] += s01;
  out[to + wide] += s10;
  out[to + wide + 1] += s11;
  out[to + 2 * wide] += s20;
  out[to + 2 * wide + 1] += s21;
  out[to + 3 * wide] += s30;
  out[to + 3 * wide + 1] += s31;
}

// out [n, wide] += A [n, deep] times B [deep, wide].
export function addTimes(out, A, B, n, deep, wide) {
  return addMixes(out, A, deep, 1, B, n, deep, wide);
}

// out [deep, wide] += A [n, deep] transposed times B [n, wide].
export function addTransposedTimes(out, A, B, n, deep, wide) {
  return addMixes(out, A, 1, deep, B, deep, n, wide);
}

// To each row r of out, the rows k of B, each times A[r * down + k * along]; four rows of B at a time.
function addMixes(out, A, down, along, B, n, deep, wide) {
  for (let r = 0; r < n; r++) {
    let k = 0;
    for (; k + 3 < deep; k += 4) {
      const at = r * down + k * along;
      const f0 = A[at];
      const f1 = A[at + along];
      const f2 = A[at + 2 * along];
      const f3 = A[at + 3 * along];
      for (let c = 0, b = k * wide, to = r * wide; c < wide; c++, b++, to++) {
        out[to] += f0 * B[b] + f1 * B[b + wide] + f2 * B[b + 2 * wide] + f3 * B[b + 3 * wide];
      }
    }
    for (; k < deep; k++) addRow(out, r * wide, A[r * down + k * along], B, k * wide, wide);
  }
  return out;
}

// out [columns] = v [rows] times the block of M that begins at row `top` and column `left`; M is `wide`
// wide. So a vector of what the block writes becomes one of what it reads.
export function pullBack(v, M, { top = 0, left = 0, rows, columns, wide }) {
  const out = new Float32Array(columns);
  for (let r = 0; r < rows; r++) addRow(out, 0, v[r], M, (top + r) * wide + left, columns);
  return out;
}

// out [rows] = the same block times v [columns].
export function push(v, M, { top = 0, left = 0, rows, columns, wide }) {
  return Float32Array.from({ length: rows }, (_, r) =>
    dot(M, (top + r) * wide + left, v, 0, columns),
  );
}
