// The strip: the line with its notes, arcs, pieces and how likely they are, the grid of heads, and what one
// head reads of the others. It draws what it is given, {state, result, whole, team, taker, opens}, and says
// what a reader presses: `act` has change(state), peek(head) and state(). A press of a head switches it, or
// goes to choose(head) where `chosen` is given: the head whose looks alone are shown, or null.
import { READS } from "./code.js";
import { bare, button, group, h, percent, roving, signed, svg, toggled } from "./parts.js";
import { brought, drawn, looks, token as read, STRONG, sentences, split } from "./shown.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const HIGH = 15; // an arc is at least so high, and at most as high as the room above the line [pixels]
const HALF = 8.5; // of the height of a tag
const ROW = 13; // of the room between rows

export class Strip {
  constructor(host, act) {
    this.act = act;
    this.arcs = svg("svg", { class: "arcs", "aria-hidden": "true" });
    this.tags = h("div", { class: "tags" });
    this.carried = h("span", { class: "carried", "aria-hidden": "true", hidden: true });
    this.words = h("div", { class: "words-of-line" });
    const name = "The line, token by token: press one to look from there";
    this.line = group(name, { class: "line" });
    this.line.append(this.arcs, this.words, this.tags, this.carried);
    this.heads = group("Heads", { class: "heads" });
    this.reads = h("div", { class: "reads", role: "group", hidden: true });
    this.reads.addEventListener("keydown", ({ key }) => key === "Escape" && this.close());
    this.beside = h("p", { class: "aside" });
    host.append(this.line, this.heads, this.reads);
    this.stops = [roving(this.words), roving(this.heads, () => this.given.result.H)];
    this.heads.addEventListener("pointerleave", () => act.peek(null));
    new ResizeObserver(() => this.given && this.draw()).observe(this.words);
  }

  // `moves`: whether what is found is seen moving.
  paint(given, moves = false) {
    const { result, state, team } = (this.given = given);
    this.shown = given.peeked ? [given.peeked] : given.nameless ? [] : drawn(state, result, team);
    this.fill();
    this.mark();
    this.fillHeads();
    for (const stop of this.stops) stop();
    if (!this.reads.hidden) this.fillReads();
    this.draw();
    if (moves) this.reach();
    if (moves) this.fly();
  }

  // Of a line that is longer than its room, the place looked from is seen.
  reach() {
    const { y, height } = this.placed(this.places[this.given.result.at].token);
    const { scrollTop, clientHeight } = this.line;
    if (y < scrollTop || y + 3 * height > scrollTop + clientHeight)
      this.line.scrollTop = y - clientHeight / 2;
  }

  // --- the line ---------------------------------------------------------------------------------

  // Other tokens, other elements; of the same ones only the looks change, so that the focus stays.
  fill() {
    const { result } = this.given;
    const { tokens, pieces, begin, first } = result;
    const key = JSON.stringify([tokens, pieces.length, begin, first, this.given.nameless]);
    if (this.filled === key) return;
    this.filled = key;
    this.places = tokens.map((_, i) => this.place(i));
    const words = [];
    this.places.forEach(({ box }, i) => {
      if (i < 2 || tokens[i].startsWith("␣")) words.push(h("span", { class: "word" }));
      words.at(-1).append(box);
    });
    this.words.replaceChildren(...words);
  }

  place(i) {
    const { pieces, begin, first } = this.given.result;
    const n = pieces.length;
    const inName = (from) => from > 0 && i >= from && i <= from + n;
    const token = button(read(this.given.result, i), () => this.look(i), { class: "token" });
    const box = h("span", { class: "place" }, token);
    box.classList.toggle(
      "wide",
      n > 0 && ((i > first && i <= first + n && first > 0) || (i > begin && i <= begin + n)),
    );
    box.classList.toggle("piece", n > 0 && (inName(begin) || inName(first)));
    const made = { box, token };
    if (!this.given.nameless && n && first > 0 && i > first && i <= first + n)
      box.append((made.note = this.note(i)));
    const k = i - begin - 1;
    if (k >= 0 && k < n) {
      made.bar = h("i");
      made.number = h("output");
      box.append(h("span", { class: "likely" }, made.bar, made.number));
    }
    return made;
  }

  note(i) {
    const before = h("b", {}, read(this.given.result, i - 1));
    const made = button("after ", () => this.cutNotes(), { class: "note" });
    made.append(before);
    return made;
  }

  look(i) {
    const { result } = this.given;
    const state = this.act.state();
    const label = bare(result.tokens[i]);
    const last = result.tokens.findLastIndex((one) => bare(one) === label);
    this.act.change({ ...state, at: last === i && i && !this.given.nameless ? label : i });
  }

  // All finders stop reading the notes as keys, or read them again.
  cutNotes() {
    const { team, taker } = this.given;
    const state = this.act.state();
    const mine = ({ from, into, of }) => from === taker && into === "keys" && team.includes(of);
    const cuts = this.unread("keys", state)
      ? state.cuts.filter((cut) => !mine(cut))
      : [
          ...state.cuts.filter((cut) => !mine(cut)),
          ...team.map((of) => ({ from: taker, into: "keys", of })),
        ];
    this.act.change({ ...state, cuts });
  }

  // Whether no finder reads the notes in this way.
  unread(kind, state) {
    const { team, taker } = this.given;
    const on = team.filter((head) => !state.off.includes(head));
    const cut = (head) =>
      state.cuts.some(({ from, into, of }) => from === taker && into === kind && of === head);
    return on.length > 0 && on.every(cut);
  }

  mark() {
    const { state, result, whole, taker, seeds = [] } = this.given;
    const { pieces, begin, at } = result;
    const gone = !taker || state.off.includes(taker);
    const [noKeys, noValues] = ["keys", "values"].map((kind) => this.unread(kind, state));
    this.places.forEach(({ box, token, note, bar, number }, i) => {
      token.classList.toggle("at", i === at);
      token.setAttribute("aria-pressed", String(i === at));
      token.setAttribute(
        "aria-label",
        `${i ? read(result, i) : "the beginning of the line"}, look from here`,
      );
      box.classList.toggle("to-come", Boolean(bar));
      if (note) {
        note.classList.toggle("gone", gone);
        note.classList.toggle("struck", noKeys);
        note.classList.toggle("faint", noValues && !noKeys);
        note.disabled = gone;
        note.setAttribute("aria-pressed", String(noKeys));
        note.title = noKeys
          ? "The finders do not read this note as a key. Press to let them."
          : "Press to cut such notes out of the finders’ keys";
      }
      if (!bar) return;
      const { p, rank } = pieces[i - begin - 1];
      const was = whole?.pieces[i - begin - 1]?.p;
      bar.style.setProperty("--p", `${100 * p}%`);
      bar.style.setProperty(
        "--was",
        was === undefined || whole === result ? "-9%" : `${100 * was}%`,
      );
      number.textContent = percent(p);
      number.title = rank === 1 ? "the likeliest of all tokens" : `number ${rank} of all tokens`;
      number.classList.toggle("best", rank === 1);
      const others = seeds.map((one) => one.pieces[i - begin - 1]?.p ?? 0);
      bar.replaceChildren(...others.map((share) => h("u", { style: `left: ${100 * share}%` })));
      number.classList.toggle("unsure", Math.min(...others) < 0.5 && Math.max(...others) > 0.5);
    });
  }

  // --- arcs ---------------------------------------------------------------------------------------

  // Where something lies on the line, in its own pixels: a slide is shown smaller or larger.
  placed(element) {
    const frame = this.line.getBoundingClientRect();
    const scale = frame.width / this.line.offsetWidth || 1;
    const { left, top, width, height } = element.getBoundingClientRect();
    return {
      x: (left - frame.left) / scale,
      y: (top - frame.top) / scale + this.line.scrollTop,
      width: width / scale,
      height: height / scale,
    };
  }

  spot(i, low = false) {
    const { box, token, note } = this.places[i];
    const { x, y, width, height } = this.placed(token);
    const under = note ? this.placed(box) : { y, height };
    return { x: x + width / 2, y: low ? under.y + under.height + 1 : y - 3, top: y };
  }

  // From one place to another: over the line, or from one row of it to another.
  way(from, to, aside = 0) {
    const [a, b] = [this.spot(from), this.spot(to)];
    if (Math.abs(a.top - b.top) < 6 && this.line.classList.contains("rows")) {
      const y = a.y - ROW; // there is room for a flat one
      return {
        d: `M${a.x},${a.y}C${a.x},${y} ${b.x},${y} ${b.x},${b.y}`,
        end: b,
        top: a,
        rows: true,
      };
    }
    if (Math.abs(a.top - b.top) < 6) {
      const room = a.y - 22;
      const high = Math.min(room - 12, HIGH + Math.abs(a.x - b.x) * 0.1) + aside;
      const y = a.y - (high * 4) / 3;
      const [left, right] = from === to ? [a.x - 9, a.x + 9] : [a.x, b.x];
      return {
        d: `M${left},${a.y}C${left},${y} ${right},${y} ${right},${b.y}`,
        end: { x: right, y: b.y },
        top: { x: (left + right) / 2, y: a.y - high },
      };
    }
    // Straight through the rows between, and across where there is no text.
    const up = b.top < a.top;
    const [start, end] = [this.spot(from, !up), this.spot(to, up)];
    const [y, gap] = up ? [start.y, -ROW] : [end.y - 4, -ROW];
    const [near, far] = up ? [start, end] : [end, start];
    const across = up
      ? `M${near.x},${near.y}C${near.x},${y + gap} ${far.x},${y} ${far.x},${y + gap}L${far.x},${far.y}`
      : `M${far.x},${far.y}L${far.x},${y + gap}C${far.x},${y} ${near.x},${y + gap} ${near.x},${near.y}`;
    return { d: across, end, top: { x: start.x, y: start.y }, rows: true };
  }

  draw() {
    const { result } = this.given;
    const [one, last] = [0, -1].map((i) => this.placed(this.places.at(i).token).y);
    this.line.classList.toggle("rows", last - one > 6);
    const { offsetTop, offsetHeight } = this.words;
    this.line.classList.toggle("long", offsetTop + offsetHeight > this.line.clientHeight + 1);
    const all = looks(result, this.shown).filter(({ to }) => to < this.places.length);
    const found = brought(result, this.shown);
    const paths = all.map((look) => {
      const way = this.way(result.at, look.to, 9 * this.shown.indexOf(look.head));
      const layer = split(look.head)[0] ? "second" : "first";
      const of = look.to ? layer : "rests";
      const seen = svg("circle", { cx: way.end.x, cy: way.end.y, r: 3.5, class: of });
      const path = svg("path", {
        d: way.d,
        class: `looks ${of}`,
        "stroke-width": 1.2 + 3.3 * look.share,
      });
      return { look, way, drawn: [path, seen] };
    });
    this.arcs.replaceChildren(...paths.flatMap((path) => path.drawn));
    this.solid = found && this.way(found.to, result.at, -16);
    if (this.solid && found.to !== result.at) {
      const { d, end } = this.solid;
      const layer = split(found.head)[0] ? "second" : "first";
      this.arcs.append(
        svg("path", { d, class: `moves ${layer}` }),
        svg("path", { d: `M${end.x - 5},${end.y - 8}h10l-5,8z`, class: `tip ${layer}` }),
      );
    }
    this.tag(paths);
    for (const [i, { token }] of this.places.entries())
      token.classList.toggle("found", i === found?.to && i !== result.at);
  }

  // What is said at the arcs, once for each place that is looked at; a head of the second layer opens what it
  // reads. Only others are made anew: a button must not go from under a finger.
  tag(paths) {
    const strong = paths.filter(({ look }) => look.share >= STRONG);
    const ends = [...new Set(strong.map(({ look }) => look.to))];
    const made = ends.map((to) => {
      const here = strong.filter(({ look }) => look.to === to);
      const said = here.map(
        ({ look }) => `${look.head} ${to ? "looks" : "rests"} ${percent(look.share)}`,
      );
      const rows = here.some((one) => one.way.rows);
      const y = Math.min(...here.map(({ way }) => way.top.y)) - 11;
      const { head } = here[0].look;
      return { text: said.join(rows ? "\n" : ", "), to, head, rows, x: here.at(-1).way.top.x, y };
    });
    const key = JSON.stringify(made.map(({ text, to, head }) => [text, to, head]));
    if (this.tagged !== key) this.tags.replaceChildren(...made.map((one) => this.tagOf(one)));
    this.tagged = key;
    made.forEach((one, k) => (one.tag = this.tags.children[k]));
    for (const { tag } of made) tag.hidden = false; // of a narrow line it may have had no room
    if (made.some(({ rows }) => rows)) this.stack(made);
    else this.spread(made);
  }

  tagOf({ text, to, head }) {
    const later = split(head)[0] > 0;
    const kind = `tag ${to ? (later ? "second" : "first") : "rests"}`;
    if (!later) return h("span", { class: kind }, text);
    const title = `What ${head} reads of earlier heads`;
    return button(text, () => this.open(head), { class: kind, title });
  }

  // Of two that would lie on each other one goes to the left or right, or up.
  spread(made) {
    const width = this.line.clientWidth;
    const laid = [];
    for (const { tag, x, y } of made) {
      const w = tag.offsetWidth;
      let [left, top] = [Math.min(Math.max(0, x - w / 2), width - w), Math.max(y, HALF)];
      for (const other of laid) {
        if (Math.abs(other.top - top) >= 2 * HALF) continue;
        if (left > other.left + other.w + 6 || other.left > left + w + 6) continue;
        const beside = x > other.x ? other.left + other.w + 8 : other.left - w - 8;
        if (beside >= 0 && beside + w <= width) left = beside;
        else top -= 2 * HALF;
      }
      put(tag, left, top - HALF);
      laid.push({ left, top, w, x });
    }
  }

  // Between rows is no room: they stand behind the end of the line, one below the other; else below its last
  // row, left of the bars.
  stack(made) {
    const last = this.placed(this.places.at(-1).token);
    const behind = last.x + last.width + 10;
    const widest = Math.max(...made.map(({ tag }) => tag.offsetWidth));
    const fits = behind + widest <= this.line.clientWidth + 8;
    const bars = this.places.find(({ bar }) => bar)?.box;
    const left = bars ? this.placed(bars).x - 6 : this.line.clientWidth;
    let y = fits ? last.y + 2 : last.y + last.height + 1;
    for (const { tag } of made) {
      put(tag, fits ? behind : left - tag.offsetWidth, y);
      tag.hidden = (!fits && tag.offsetWidth > left) || y > last.y + 44;
      y += tag.offsetHeight;
    }
  }

  // What was found moves along its arc, and on to the piece that it makes likely.
  async fly() {
    this.flight?.cancel(); // that of another state
    this.carried.hidden = true;
    const { result } = this.given;
    const found = brought(result, this.shown);
    if (!found || !this.solid || STILL.matches || document.hidden) return;
    const { d } = this.way(found.to, result.at, -16);
    const to = this.spot(result.at + 1);
    const at = this.spot(result.at);
    const hop =
      Math.abs(at.top - to.top) < 6 ? `Q${(at.x + to.x) / 2},${at.y - 22} ${to.x},${to.y}` : "";
    Object.assign(this.carried.style, { offsetPath: `path("${d}${hop}")`, offsetRotate: "0deg" });
    this.carried.textContent = read(result, found.to);
    this.carried.hidden = false;
    const steps = { offsetDistance: ["0%", "100%"] };
    this.flight = this.carried.animate(steps, { duration: 900, easing: "ease-in-out" });
    const mine = this.flight;
    await mine.finished.catch(() => null);
    if (mine === this.flight) this.carried.hidden = true;
  }

  // --- heads --------------------------------------------------------------------------------------

  fillHeads() {
    const { result, state, opens, taker, chosen } = this.given;
    const { L, H, writers, column } = result;
    const switches = chosen === undefined;
    const key = `${L} ${H} ${switches}`;
    if (this.headsOf !== key) {
      this.headsOf = key;
      const names = Array.from({ length: L * H }, (_, i) => `${Math.floor(i / H)}.${i % H}`);
      const does = switches ? "switch it off" : "see its looks alone";
      this.heads.setAttribute("aria-label", `Heads: press one to ${does}`);
      this.heads.style.setProperty("--across", H);
      this.heads.replaceChildren(...names.map((name) => this.head(name, switches)));
    }
    const shares = opens === "board" && writers;
    const most = shares ? Math.max(...writers.map(({ logit }) => Math.abs(logit))) : 1;
    this.heads.classList.toggle("board", Boolean(shares));
    for (const head of this.heads.querySelectorAll("button")) {
      const { name } = head.dataset;
      const off = state.off.includes(name);
      head.classList.toggle("off", off);
      if (switches) head.setAttribute("aria-checked", String(!off));
      else {
        head.setAttribute("aria-pressed", String(name === chosen));
        head.setAttribute("aria-label", `head ${name}${off ? ", off" : ""}`);
      }
      const plays = name === taker && !off;
      head.classList.toggle("drawn", plays || this.shown.includes(name));
      share(head, shares ? (writers.find((one) => one.name === name)?.logit ?? 0) : null, most);
    }
    this.aside(shares, opens?.startsWith("column") && column);
  }

  head(name, switches) {
    const turn = () => {
      const state = this.act.state();
      this.act.change({ ...state, off: toggled(state.off, name) });
    };
    const does = switches ? `switch head ${name} off or on` : `see where head ${name} looks`;
    return button(name, switches ? turn : () => this.act.choose(name), {
      role: switches ? "switch" : null,
      class: split(name)[0] ? "second" : "first",
      "data-name": name,
      "aria-label": `head ${name}`,
      title: `Press to ${does}${switches ? "; point at it to see where it looks" : ""}`,
      pointerenter: ({ pointerType }) => pointerType === "mouse" && this.act.peek(name),
    });
  }

  // What stands below the line of code: the sum on the board; or what a head says of a token.
  aside(shares, column) {
    const { result } = this.given;
    this.beside.replaceChildren();
    if (shares) {
      const next = result.tokens[result.at + 1] ?? result.next[0].label;
      const own = shares.find(({ name }) => name === "token")?.logit ?? 0;
      const sum = shares.reduce((all, { logit }) => all + logit, 0);
      this.beside.append(
        "Who says ",
        h("b", {}, bare(next)),
        ` after “${bare(result.tokens[result.at])}”: the token itself ${signed(own)}, the heads as they say, together ${signed(sum)} logits.`,
      );
    } else if (column) {
      const highest = Math.max(...column.top.map(({ logit }) => Math.abs(logit)));
      const cells = column.top.slice(0, 6).map(({ label, logit }) => {
        const cell = h("span", { class: "said-token" }, h("b", {}, bare(label)));
        share(cell, logit, highest);
        return cell;
      });
      this.beside.append(`Looking at “${bare(column.token)}”, ${column.head} says `, ...cells);
    }
  }

  // --- what a head reads ----------------------------------------------------------------------------

  open(head) {
    if (!this.reads.hidden && this.reader === head) return this.close();
    this.reader = head;
    this.reads.hidden = false;
    this.fillReads();
    this.reads.querySelector("button").focus({ preventScroll: true });
    this.reads.scrollIntoView({ block: "nearest" });
  }

  close() {
    const inside = this.reads.contains(document.activeElement); // else somebody types elsewhere
    this.reads.hidden = true;
    if (inside) this.tags.querySelector("button")?.focus({ preventScroll: true });
  }

  fillReads() {
    const { result } = this.given;
    const state = this.act.state();
    const { reader: of } = this;
    if (split(of)[0] >= result.L) return this.close();
    const focused = [...this.reads.querySelectorAll("button")].indexOf(document.activeElement);
    const earlier = Array.from({ length: result.H }, (_, head) => `0.${head}`);
    const cell = (from, into) => {
      const same = (cut) => cut.from === from && cut.into === into && cut.of === of;
      const cut = state.cuts.some(same);
      const others = state.cuts.filter((one) => !same(one));
      const cuts = cut ? others : [...others, { from, into, of }];
      return button(from, () => this.act.change({ ...state, cuts }), {
        role: "switch",
        class: into,
        "aria-checked": String(!cut),
        "aria-label": `${of} reads ${from} in its ${into}`,
      });
    };
    const rows = READS.flatMap((into) => [
      h("span", { class: into }, into),
      ...earlier.map((from) => cell(from, into)),
    ]);
    const close = button("Close", () => this.close(), { class: "close" });
    this.reads.setAttribute("aria-label", `What ${of} reads of the first layer`);
    this.reads.style.setProperty("--across", result.H);
    const said = " makes three things of what these heads wrote. Press one to cut it out.";
    this.reads.replaceChildren(h("p", {}, h("b", {}, of), said), ...rows, close);
    this.reads.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
  }

  // The place that is looked at most, other than the beginning; else the place looked from.
  foremost() {
    const { result } = this.given;
    return looks(result, this.shown).find(({ to }) => to > 0)?.to ?? result.at;
  }

  says() {
    const { state, result, team } = this.given;
    return sentences(state, result, drawn(state, result, team));
  }
}

function put(tag, x, y) {
  tag.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
}

// A number of logits with its bar, at an element; null takes it away.
function share(element, value, most) {
  if (value === null) {
    element.style.removeProperty("--share");
    delete element.dataset.share;
    return;
  }
  element.dataset.share = signed(value);
  element.classList.toggle("less", value < 0);
  element.style.setProperty("--share", `${(100 * Math.abs(value)) / most}%`);
}
